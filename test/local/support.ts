/** SDK client settings for an emulator. */
export const clientConfig = (endpoint: string) => ({
  endpoint,
  region: "us-east-1",
  credentials: { accessKeyId: "LOCALTEST", secretAccessKey: "local" },
});
