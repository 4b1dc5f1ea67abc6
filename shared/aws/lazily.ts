/** What has asynchronous methods alone, so that its caller cannot tell when it was made. */
type Asynchronous<T> = { [Name in keyof T]: (...args: never[]) => Promise<unknown> };

/**
 * Makes something when its first method is called: a cold start does not load the clients that most calls do
 * without.
 * @param names all methods; the type checker does not let one be forgotten
 * @param make usually loads a module of ours, because only what that names of a client gets into its bundle
 */
export function lazily<T extends Asynchronous<T>>(names: Record<keyof T, true>, make: () => Promise<T>): T {
  let made: Promise<T> | undefined;
  const calling =
    (name: keyof T) =>
    async (...args: never[]): Promise<unknown> => {
      made ??= make();
      return (await made)[name](...args);
    };
  const methods = (Object.keys(names) as (keyof T)[]).map((name) => [name, calling(name)]);
  return Object.fromEntries(methods) as T;
}
