import { join } from "node:path";
import type { Gateway } from "../../core/index.ts";
import { setupGateway } from "../../core/testing/index.ts";
import { makeFolder } from "../kit/folder.ts";
import { importAll, LEAST_OPTIONS } from "./first-party.ts";

/** The routes of a gateway that runs with every plugin that comes with Propylon. */
export async function runningRoutes(): Promise<ReturnType<Gateway["describe"]>["routes"]> {
  const options: typeof LEAST_OPTIONS = { ...LEAST_OPTIONS, gating: { state: false } };
  const plugins = (await importAll()).map(
    (plugin) => [plugin, options[plugin.name] ?? {}] as const,
  );
  const folder = makeFolder();
  const config = { store: `sqlite:${join(folder, "gateway.db")}` };
  const { gateway } = await setupGateway({ plugins, config, client: false });
  return gateway.describe().routes;
}
