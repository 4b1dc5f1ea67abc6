import { afterEach } from "vitest";
import {
  Connection,
  type ConnectionOptions,
  type ConnectionState,
  type RequestError,
} from "../../../cli/gateway/connection.ts";
import { startTestGateway, type TestGateway } from "../test-gateway.ts";

/** Starts gateways and connections that end with each test of the file that calls `connectionBench`. */
export interface ConnectionBench {
  gatewayFor(options?: Parameters<typeof startTestGateway>[0]): Promise<TestGateway>;
  /** A connection with short timeouts, not opened yet, and every state it enters. */
  connectionTo(
    url: string,
    options?: Partial<ConnectionOptions>,
  ): { connection: Connection; states: ConnectionState[] };
}

export function connectionBench(): ConnectionBench {
  const opened: Connection[] = [];
  const gateways: TestGateway[] = [];
  afterEach(async () => {
    for (const connection of opened.splice(0)) await connection.close();
    for (const gateway of gateways.splice(0)) await gateway.stop();
  });
  return {
    gatewayFor: async (options = {}) => {
      const gateway = await startTestGateway(options);
      gateways.push(gateway);
      return gateway;
    },
    connectionTo: (url, options = {}) => {
      const connection = new Connection({
        url,
        token: "secret-token",
        client: { id: "tester", version: "0.1.0", platform: "linux", mode: "client" },
        ...options,
        timing: { backoffMinMs: 1, backoffMaxMs: 20, ...options.timing },
      });
      opened.push(connection);
      const states: ConnectionState[] = [];
      connection.onState((state) => states.push(state));
      return { connection, states };
    },
  };
}

/** The error a promise is rejected with. */
export function refusalOf(promise: Promise<unknown>): Promise<RequestError> {
  return promise.then(
    () => {
      throw new Error("expected a rejection");
    },
    (error: RequestError) => error,
  );
}
