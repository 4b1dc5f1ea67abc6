/** SDK client settings for an emulator. */
export const clientConfig = (endpoint: string) => ({
  endpoint,
  region: "us-east-1",
  credentials: { accessKeyId: "LOCALTEST", secretAccessKey: "local" },
});

/** Waits until the condition holds; fails after ten seconds. */
export async function until(condition: () => unknown): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error("the condition did not come true in ten seconds");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
