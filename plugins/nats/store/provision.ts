import { isDeepStrictEqual } from "node:util";
import type { JetStreamManager, StreamConfig } from "@nats-io/jetstream";
import { GatewayError } from "propylon";

/** JetStream's code for what is not there. */
const NOT_FOUND = 404;

/**
 * Settings that decide what is guaranteed, with what they must be, or may be; what is not named is whatever it is.
 *
 * @example const demands: Demands = { storage: "file", sealed: [false, undefined] };
 */
export type Demands = Readonly<Record<string, unknown>>;

/**
 * A stream as it is created, and what one that is there must be like.
 *
 * @example const plan: StreamPlan = { create: { name: "A", subjects: ["a.>"] }, demands: { storage: "file" } };
 */
export interface StreamPlan {
  readonly create: Partial<StreamConfig> & { readonly name: string; readonly subjects: string[] };
  readonly demands: Demands;
}

/** Nanoseconds, in which JetStream counts. @example nanos(1_000); // 1_000_000_000 */
export const nanos = (ms: number): number => ms * 1_000_000;

/**
 * Creates a stream where it is missing, and checks one that is there.
 *
 * @throws {GatewayError} `invalid` naming the setting that is not as it must be, or what is missing; anything else when the server
 * cannot be asked
 * @example const config = await provideStream(manager, plan, settings.provision === "create");
 */
export async function provideStream(
  manager: JetStreamManager,
  { create, demands }: StreamPlan,
  mayCreate: boolean,
): Promise<StreamConfig> {
  const add = (): Promise<{ config: StreamConfig }> => manager.streams.add(create);
  const { config } = await findOrAdd(
    `stream ${create.name}`,
    () => manager.streams.info(create.name),
    mayCreate ? add : undefined,
  );
  checkSettings(`stream ${create.name}`, config, demands);
  checkSubjects(create.name, config.subjects, create.subjects[0]!);
  return config;
}

/**
 * Looks for something, and adds it where it is missing. Looks first, because adding what is there with other settings would be an update.
 *
 * @param add `undefined`: it must be there
 * @throws {GatewayError} `invalid` when it is missing and must not be added; whatever the server says
 * @example const info = await findOrAdd("stream A", () => manager.streams.info("A"), () => manager.streams.add({ name: "A" }));
 */
export async function findOrAdd<T>(
  what: string,
  look: () => Promise<T>,
  add: (() => Promise<T>) | undefined,
): Promise<T> {
  try {
    return await look();
  } catch (error) {
    if ((error as { status?: unknown }).status !== NOT_FOUND) throw error;
    if (!add)
      throw new GatewayError("invalid", `The ${what} does not exist.`, {
        hint: "Create it, or allow that it is created: nats.provision: create.",
      });
    // Processes that start together all find nothing; to the second, nats-server 2.9 at times says that its subjects overlap.
    return add().catch((refused: unknown) => look().catch(() => Promise.reject(refused)));
  }
}

/**
 * Compares what is there with what it must be.
 *
 * @throws {GatewayError} `invalid` naming the first setting that is another
 * @example checkSettings("stream A", info.config, { storage: "file" });
 */
export function checkSettings(what: string, config: object, demands: Demands): void {
  for (const [setting, wanted] of Object.entries(demands)) {
    const found = (config as Record<string, unknown>)[setting];
    if ([wanted].flat().some((each) => isDeepStrictEqual(each, found))) continue;
    throw new GatewayError(
      "invalid",
      `The ${what} has ${setting} ${JSON.stringify(found ?? null)}; it must be ${[wanted].flat().map(worded).join(" or ")}.`,
      {
        hint: "Change it there, or the option here; what exists is never changed.",
        data: { setting },
      },
    );
  }
}

function worded(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined ? "not set" : JSON.stringify(value);
}

function checkSubjects(stream: string, found: readonly string[], wanted: string): void {
  const prefix = wanted.replace(/\.[*>]$/, "");
  if (found.some((subject) => subject === wanted || subject === `${prefix}.>`)) return;
  throw new GatewayError(
    "invalid",
    `The stream ${stream} has subjects ${found.join(", ")}; ${wanted} must be one of them.`,
    { hint: "Add it there, or set subjects here.", data: { setting: "subjects" } },
  );
}
