import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { Transform } from "node:stream";
import timers from "node:timers/promises";
import zlib from "node:zlib";
import type { Random } from "../../support/random.ts";
import type { Machine } from "./machine.ts";

/** What stands in for the clock, the timers and the chance of this process. */
export interface Surroundings {
  /** The machine whose code runs now. */
  machine(): Machine;
  random: Random;
}

/**
 * Puts virtual timers, clocks and ids, and a compression without threads, in the place of this process's own.
 * @returns what puts the process's own back
 */
export function standIn({ machine, random }: Surroundings): () => void {
  const { setTimeout, clearTimeout, setInterval, clearInterval } = globalThis;
  const { now } = Date;
  const { timeout } = AbortSignal;
  const { randomUUID, randomBytes } = crypto;
  const { setTimeout: sleep } = timers;
  const { createGzip, createGunzip } = zlib;
  Object.assign(globalThis, {
    setTimeout: (work: () => void, ms = 0) => new Timer(machine().after(ms, work)),
    setInterval: (work: () => void, ms: number) => repeating(machine(), work, ms),
    clearTimeout: cancel,
    clearInterval: cancel,
  });
  Date.now = () => machine().now();
  AbortSignal.timeout = (ms) => {
    const controller = new AbortController();
    machine().after(ms, () => controller.abort(new DOMException("timed out", "TimeoutError")));
    return controller.signal;
  };
  const bytes = (size: number) => Buffer.from(Array.from({ length: size }, () => random.integer(256)));
  Object.assign(crypto, { randomUUID: () => uuid(random), randomBytes: bytes });
  Object.assign(timers, {
    setTimeout: (ms: number) => new Promise<void>((resolve) => void machine().after(ms, resolve)),
  });
  define(zlib, { createGzip: () => whole(zlib.gzipSync), createGunzip: () => whole(zlib.gunzipSync) });
  syncBuiltinESMExports();
  return () => {
    Object.assign(globalThis, { setTimeout, clearTimeout, setInterval, clearInterval });
    Date.now = now;
    AbortSignal.timeout = timeout;
    Object.assign(crypto, { randomUUID, randomBytes });
    Object.assign(timers, { setTimeout: sleep });
    define(zlib, { createGzip, createGunzip });
    syncBuiltinESMExports();
  };
}

/** As `Object.assign`, for what can only be replaced. */
function define(target: object, values: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(values)) Object.defineProperty(target, name, { value });
}

const { clearTimeout: realClearTimeout } = globalThis;

class Timer {
  readonly cancel: () => void;

  constructor(cancel: () => void) {
    this.cancel = cancel;
  }
  unref(): this {
    return this;
  }
  ref(): this {
    return this;
  }
}

/** Cancels a timer. A real one was made before, by what an earlier test has left in this process. */
function cancel(timer: Timer | NodeJS.Timeout | undefined): void {
  if (timer instanceof Timer) timer.cancel();
  else realClearTimeout(timer);
}

function repeating(machine: Machine, work: () => void, ms: number): Timer {
  let takeBack = () => {};
  let isOn = true;
  const next = () => {
    takeBack = machine.after(ms, () => {
      work();
      if (isOn) next();
    });
  };
  next();
  return new Timer(() => {
    isOn = false;
    takeBack();
  });
}

/** Compresses or unpacks all that was written, when it ends. */
function whole(convert: (input: Buffer) => Buffer): Transform {
  const pieces: Buffer[] = [];
  return new Transform({
    transform(piece: Buffer | string, _encoding, done) {
      pieces.push(Buffer.from(piece));
      done();
    },
    flush(done) {
      done(null, convert(Buffer.concat(pieces)));
    },
  });
}

function uuid(random: Random): string {
  const hex = (digits: number) =>
    random
      .integer(16 ** digits)
      .toString(16)
      .padStart(digits, "0");
  return `${hex(8 - 1)}0-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(6)}${hex(6)}`;
}
