import type { Bucket, Table } from "../../shared/world/world.ts";
import type { State } from "../support/state.ts";

/** How many calls of the table and the bucket a process lives for. */
export interface Life {
  left: number;
}

/** The table and the bucket of a process that dies before the call behind its last one; without a life it does not. */
export function mortalStore(
  { table, bucket }: Pick<State, "table" | "bucket">,
  life: Life = { left: Number.POSITIVE_INFINITY },
): { table: Table; bucket: Bucket } {
  return { table: mortal(table, life), bucket: mortal(bucket, life) };
}

function mortal<T extends object>(store: T, life: Life): T {
  return new Proxy(store, {
    get(target, name) {
      const call = Reflect.get(target, name) as unknown;
      if (typeof call !== "function") return call;
      return (...args: unknown[]) => {
        if (life.left-- <= 0) return Promise.reject(new Error("killed"));
        return call.apply(target, args);
      };
    },
  });
}
