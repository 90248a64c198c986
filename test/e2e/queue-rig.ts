import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../core/testing/index.ts";
import { FaultProxy } from "../fixtures/faults/proxy.ts";
import { startNats } from "../fixtures/nats/nats.mjs";
import type { NatsServer } from "../fixtures/nats/types.ts";
import { main } from "./build.ts";
import { Observer } from "./queue-observer.ts";
import { Mortal, RuntimeProcess } from "./queue-process.ts";

/** Options of the sidecar, beside where things are: short times, so that faults show soon. */
const SHORT = {
  ackWait: "900ms",
  backoff: { initial: "50ms", max: "400ms" },
  maxDeliver: 4,
  timeout: "20s",
};

export interface RigOptions {
  readonly sidecars?: number;
  /** Options of the sidecar plugin. */
  readonly options?: object;
}

/**
 * A queue with everything real and each in a process of its own: nats-server, a runtime, sidecars that reach both only through a
 * proxy; and an observer, which sees it from outside.
 */
export interface Rig {
  readonly nats: NatsServer;
  readonly runtime: RuntimeProcess;
  /** They do not run before {@link Rig.begin}. */
  readonly sidecars: readonly Mortal[];
  /** Between sidecars and NATS. */
  readonly toNats: FaultProxy;
  /** Between sidecars and runtime. */
  readonly toRuntime: FaultProxy;
  readonly observer: Observer;
  /** Starts the sidecars; resolves when they have made their streams. */
  begin(): Promise<void>;
  end(): Promise<void>;
  /** The last lines of every program's log. */
  said(): string;
}

/** Makes a queue. */
export async function makeRig({ sidecars: count = 1, options }: RigOptions): Promise<Rig> {
  // Its tests run at once, and makeFolder() would remove it with the first that ends.
  const folder = await mkdtemp(join(tmpdir(), "propylon-test-"));
  const history = join(folder, "history.jsonl");
  const nats = await startNats(await freePort());
  const runtime = new RuntimeProcess(history);
  await runtime.begin();
  const toNats = await FaultProxy.start(nats.port);
  const toRuntime = await FaultProxy.start(runtime.port);
  const config = join(folder, "gateway.json");
  await writeFile(config, JSON.stringify(configOf(toNats.port, toRuntime.port, options)));
  const sidecars = Array.from({ length: count }, () => new Mortal(() => [main, "start", config]));
  const observer = await Observer.open(nats.url, history);
  return {
    nats,
    runtime,
    sidecars,
    toNats,
    toRuntime,
    observer,
    async begin() {
      for (const sidecar of sidecars) sidecar.start();
      await observer.begin();
    },
    said: () => [...sidecars, runtime].map(({ lines }) => lines.slice(-60).join("\n")).join("\n\n"),
    async end() {
      await observer.close();
      await Promise.all([...sidecars, runtime].map((process) => process.kill()));
      await Promise.all([toNats.close(), toRuntime.close(), nats.stop()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function configOf(nats: number, runtime: number, options: object = {}): object {
  const sidecar = {
    ...SHORT,
    name: "worker",
    runtime: { url: `http://127.0.0.1:${runtime}`, interval: "200ms" },
    nats: { url: `nats://127.0.0.1:${nats}` },
    ...options,
  };
  return { listeners: { main: { port: 0 } }, log: { format: "json" }, plugins: { sidecar } };
}
