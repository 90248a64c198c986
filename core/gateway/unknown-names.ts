import { invalidConfig } from "../config/issue.ts";
import { type Selectable, type UnknownName, unknownNames } from "./check/selectors.ts";
import { readRef } from "../kit/principal.ts";
import type { Logger } from "pino";
import type { Server } from "../call/server.ts";
import type { Generation } from "./generation.ts";

/** Names in the options of plugins that select nothing. */
export function unknownNamesOf(generation: Generation): readonly UnknownName[] {
  const { selectors, compiled } = generation;
  // A plugin that lets people in may call them keys, too.
  const mayBringKeys = compiled.authenticators.some(({ plugin }) => plugin !== undefined);
  return unknownNames(selectors, selectableOf(generation)).map((each) =>
    each.kind === "key" && mayBringKeys ? { ...each, isStrict: false } : each,
  );
}

/** @throws {GatewayError} `invalid` for names that keep somebody out of something that does not exist: they protect nothing */
export function refuseUnknownNames(generation: Generation): void {
  const wrong = unknownNamesOf(generation).filter(({ isStrict }) => isStrict);
  if (wrong.length > 0) throw invalidConfig(wrong.map((issue) => generation.places.place(issue)));
}

/** What was told, by generation: each name once. */
const told = new WeakMap<Generation, Set<string>>();

/** Tells of tools that rules name and that a server does not have, when it has listed those that it has. */
export function tellUnknownTools(generation: Generation, server: string, log: Logger): void {
  const said = told.get(generation) ?? new Set<string>();
  told.set(generation, said);
  for (const { kind, message, hint } of unknownNamesOf(generation)) {
    if (kind !== "tool" || said.has(message)) continue;
    said.add(message);
    log.warn({ server, hint }, message);
  }
}

function selectableOf({ config, scopes, compiled }: Generation): Selectable {
  const granted = compiled.authenticators.flatMap(({ grants }) => [...(grants?.keys() ?? [])]);
  return {
    servers: [
      ...new Set([
        ...compiled.servers.keys(),
        ...Object.keys(config.servers),
        ...scopes.map(({ name }) => name),
      ]),
    ],
    keys: granted.map(readRef).flatMap(({ kind, id }) => (kind === "key" ? [id] : [])),
    tools(server) {
      const found = compiled.servers.get(server);
      const isKnown = found?.status.state === "ready" && found.catalogue.hash !== "";
      return isKnown ? namesOf(found.catalogue) : undefined;
    },
  };
}

/** Rules of access make no difference between tools, prompts and resources. */
function namesOf({ tools, prompts, resources, resourceTemplates }: Server["catalogue"]): string[] {
  return [
    ...[...tools, ...prompts].map(({ name }) => name),
    ...resources.map(({ uri }) => uri),
    ...resourceTemplates.map(({ uriTemplate }) => uriTemplate),
  ];
}
