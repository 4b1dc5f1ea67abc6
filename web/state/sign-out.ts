import type { ConsoleState } from "./console-state.ts";

/** Time for the gateway to revoke the token, ms. Without a connection it stays valid until it is revoked elsewhere. */
const revokeMs = 3_000;

/** Revokes this device's token, and deletes all that the device has kept. The page asks for a code again. */
export async function signOut({ connection, store, isSignedOut }: ConsoleState): Promise<void> {
  isSignedOut.value = true;
  try {
    const { devices } = await connection.request("device.list", {}, revokeMs);
    const here = devices.find(({ current }) => current);
    if (here) await connection.request("device.revoke", { id: here.id }, revokeMs);
  } catch {
    // The socket may close before the answer.
  }
  connection.close();
  await store.clear();
}
