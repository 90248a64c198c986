import type { Registry } from "prom-client";
import type { Call } from "../call/call.ts";
import type { Json } from "../kit/types.ts";
import type { OpenDatabase } from "../store/database.ts";
import type { RouteEvent } from "./route.ts";
import { defineService, type Service } from "../kit/service.ts";

/**
 * Writes to the audit what a plugin did: the log line `mutation` and the hook of that name, as for a request that changes something.
 * Who did it is not the plugin's to say: it is the one who made the request or call that is given.
 *
 * @param action a short name such as `stop`; the line says `<plugin>:stop`
 * @param target what it was done to, e.g. `{ agent: id }`; at most 32 values, each cut at 200 characters
 * @param details what else is worth knowing, never a body: secrets are masked by their names, texts are cut at 200 characters, levels
 * below the fourth and members beyond the 32nd of one level are left out, as is all beyond 4,096 characters
 * @param on the request or call on whose behalf it is done, as the route handler or the tool received it; default, and for an object
 * that the gateway did not hand out: the plugin itself
 * @throws {GatewayError} `invalid` for an action that is not a short name
 * @example services.audit("stop", { agent: id }, { reason: "requested" }, event);
 */
export type Audit = (
  action: string,
  target: Readonly<Record<string, string>>,
  details?: Json,
  on?: RouteEvent | Call,
) => void;

/** The service that every gateway has; see the type. */
export const Audit: Service<Audit> = defineService("audit");

/**
 * Tables of a plugin's own in the database of the store, for what people search and administer.
 *
 * @example definePlugin({ name: "notes", inject: { openDatabase: Database }, setup });
 */
export const Database: Service<OpenDatabase> = defineService("database");

/**
 * The lists of every interface: what clients see of tools, resources and prompts.
 *
 * @example definePlugin({ name: "shifts", inject: { lists: Lists }, setup: ({ services }) => atNight(() => services.lists.changed()) });
 */
export interface Lists {
  /** Builds them again and tells clients, because a filter that a plugin added to {@link Filters} has other answers now. */
  changed(): void;
}

/** The service that every gateway has; see the interface. */
export const Lists: Service<Lists> = defineService("lists");

/**
 * Files beside the config.
 *
 * @example definePlugin({ name: "reviews", inject: { files: Files }, setup: ({ services }) => read(services.files) });
 */
export interface Files {
  /** Folder that relative paths in the config start from: that of the file, if there is one. */
  readonly folder: string;
  /**
   * Reads a text file, by a path relative to {@link folder}. From then on the file belongs to the plugin: when its content changes,
   * the next reload sets the plugin up again, and a gateway that watches its config reloads on its own. For `setup`.
   * @throws {GatewayError} `io_error` when it cannot be read; it belongs to the plugin all the same
   * @example const instructions = await files.read("instructions.md");
   */
  read(path: string): Promise<string>;
  /**
   * Imports a TypeScript or JavaScript file, as it is on disk now; it and what it imports belong to the plugin as for {@link read}.
   * @throws {GatewayError} `io_error` when the file does not exist; `invalid` when it does not load
   * @example const { default: agent } = await files.import("./agents/review.ts");
   */
  import(path: string): Promise<Readonly<Record<string, unknown>>>;
  /**
   * Where something of the config in force stands, as `gateway.yaml:7:5`; the path alone where no file has it. A plugin's options are
   * found below `["plugins", <its key>]`, also those of a section. A reload that moves lines and nothing else changes it.
   */
  placeOf(path: readonly (string | number)[]): string;
}

/** The service that every gateway has; see the interface. */
export const Files: Service<Files> = defineService("files");

/**
 * Metrics of the plugin's own, on the metrics page of the gateway and gone with the plugin. A plugin that is on by default has none: it injects `optional(Metrics)`.
 *
 * @example
 * definePlugin({ name: "builds", inject: { metrics: Metrics }, setup });
 *
 * gateway.services.metrics.registerMetric(new Counter({ name: "builds_total", help: "Builds.", registers: [] }));
 */
export const Metrics: Service<Registry> = defineService("metrics");
