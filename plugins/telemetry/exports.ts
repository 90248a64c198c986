import type { PluginContext } from "propylon";
import type { ExportSettings } from "./options.ts";
import { Pipeline } from "./pipeline.ts";
import { register } from "./registration.ts";
import { loadTelemetrySdk } from "./sdk.ts";

/** A pipeline and its users. */
interface Used {
  readonly pipeline: Pipeline;
  readonly unregister: () => void;
  users: number;
}

/**
 * The pipelines of one gateway: one for each settings in use. A reload that leaves the settings alone keeps theirs; one that
 * changes them has two until the calls in flight are done, so that no span is lost.
 */
export class Exports {
  readonly #used = new Map<string, Used>();

  /** @throws {GatewayError} `invalid` when the SDK is not installed */
  async acquire(
    settings: ExportSettings,
    log: PluginContext["log"],
  ): Promise<{ readonly pipeline: Pipeline; readonly release: () => Promise<void> }> {
    const sdk = await loadTelemetrySdk();
    const key = JSON.stringify(settings);
    let used = this.#used.get(key);
    if (!used) {
      const tell = (reason: string): void =>
        log.warn({ reason: reason.slice(0, 500) }, "telemetry could not be exported");
      const pipeline = new Pipeline(sdk, settings, tell);
      used = { pipeline, unregister: register(pipeline, tell), users: 0 };
      this.#used.set(key, used);
    }
    used.users++;
    const held = used;
    return { pipeline: held.pipeline, release: () => this.#release(key, held) };
  }

  async #release(key: string, used: Used): Promise<void> {
    used.users--;
    if (used.users > 0) return;
    this.#used.delete(key);
    // What the last export loses is still told.
    await used.pipeline.close().finally(used.unregister);
  }
}
