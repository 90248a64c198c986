import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, onTestFailed, onTestFinished } from "vitest";
import { freePort } from "../../core/testing/index.ts";
import { until } from "../kit/until.ts";
import { main, workFolder } from "./build.ts";
import { Mortal } from "./queue-process.ts";

/** Longest wait for a gateway that starts, in milliseconds. */
const START_MS = 60_000;

/** Where the gateways of a test file write. */
export interface Place {
  readonly folder: string;
}

/** Makes a folder for a test file. @returns what is there while tests run */
export function usePlace(): Place {
  const place = { folder: "" };
  beforeAll(async () => {
    place.folder = await workFolder();
  });
  afterAll(() => rm(place.folder, { recursive: true, force: true }));
  return place;
}

/** A gateway as a process of its own, on one port over all its lives. */
export class GatewayProcess extends Mortal {
  readonly url: string;

  private constructor(config: string, port: number) {
    super(() => [main, "start", config]);
    this.url = `http://127.0.0.1:${port}`;
  }

  /** Writes its config; it ends with its test, and tells its last lines when that failed. */
  static async create(
    { folder }: Place,
    configOf: (port: number) => object,
  ): Promise<GatewayProcess> {
    const port = await freePort();
    const config = join(folder, `gateway-${port}.json`);
    await writeFile(config, JSON.stringify(configOf(port)));
    const gateway = new GatewayProcess(config, port);
    onTestFinished(async () => void (await gateway.kill()));
    onTestFailed(() => void process.stderr.write(`${gateway.lines.slice(-20).join("\n")}\n`));
    return gateway;
  }

  /** Resolves when it serves. @param path what says so */
  async begin(path = "/livez"): Promise<void> {
    this.start();
    const isReady = (): Promise<boolean> =>
      fetch(this.url + path).then(
        ({ ok }) => ok,
        () => false,
      );
    await until(isReady, START_MS);
  }

  /** Dies, and is started again. */
  async restart(): Promise<void> {
    await this.kill();
    this.start();
  }
}

/** Options of the plugin agents: one worker with the scripted model of a test. */
export function workerOf(model: string): object {
  return {
    providers: { scripted: { type: "openai-compatible", baseUrl: model } },
    model: "scripted/scripted",
    agents: { worker: { description: "Works." } },
  };
}
