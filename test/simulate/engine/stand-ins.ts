import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { Transform } from "node:stream";
import timers from "node:timers";
import sleeping from "node:timers/promises";
import zlib from "node:zlib";
import type { Random } from "../../support/random.ts";
import type { Machine } from "./machine.ts";

/** Source of the virtual clock, timers and randomness. */
export interface Surroundings {
  /** The machine whose code runs now. */
  machine(): Machine;
  random: Random;
}

/**
 * Replaces this process's timers, clocks and ids by virtual ones, and compression by one without threads.
 * @returns a function that restores the originals
 */
export function standIn({ machine, random }: Surroundings): () => void {
  const { setTimeout, clearTimeout, setInterval, clearInterval } = globalThis;
  const { now } = Date;
  const { timeout } = AbortSignal;
  const { randomUUID, randomBytes } = crypto;
  const { setTimeout: sleep } = sleeping;
  const { createGzip, createGunzip } = zlib;
  const later = (work: () => void, ms = 0) => new Timer(machine().after(ms, work));
  // Middy imports it.
  Object.assign(timers, { setTimeout: later });
  Object.assign(globalThis, {
    setTimeout: later,
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
  Object.assign(sleeping, {
    setTimeout: (ms: number) => new Promise<void>((resolve) => void machine().after(ms, resolve)),
  });
  define(zlib, { createGzip: () => whole(zlib.gzipSync), createGunzip: () => whole(zlib.gunzipSync) });
  syncBuiltinESMExports();
  return () => {
    Object.assign(globalThis, { setTimeout, clearTimeout, setInterval, clearInterval });
    Date.now = now;
    AbortSignal.timeout = timeout;
    Object.assign(crypto, { randomUUID, randomBytes });
    Object.assign(timers, { setTimeout });
    Object.assign(sleeping, { setTimeout: sleep });
    define(zlib, { createGzip, createGunzip });
    syncBuiltinESMExports();
  };
}

/** Like `Object.assign`, for properties that cannot be assigned. */
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

/** Cancels a timer. A real one comes from an earlier test in this process. */
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

/** Compresses or unpacks the whole input when it ends. */
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
