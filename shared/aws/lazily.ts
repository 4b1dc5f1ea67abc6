/** An object whose methods are all asynchronous. */
type Asynchronous<T> = { [Name in keyof T]: (...args: never[]) => Promise<unknown> };

/**
 * Creates an object at the first call of one of its methods, so that a cold start does not load clients that
 * are rarely used.
 * @param names all methods; a missing one is a type error
 * @param make should import a module of this project rather than the SDK, so that the bundle contains only
 * the used parts of the SDK
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
