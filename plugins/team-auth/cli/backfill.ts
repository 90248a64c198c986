import { readFile } from "node:fs/promises";
import { GatewayError, type Json } from "propylon";
import { type ClientFlags, table } from "propylon/cli";
import { ask } from "./ask.ts";

/** Flags of `propylon team-auth backfill`. */
export interface BackfillFlags extends ClientFlags {
  readonly owner?: string;
  readonly map?: string;
  readonly dryRun?: boolean;
}

interface Step {
  readonly library: string;
  readonly owner: string;
  readonly done: "owned" | "granted" | "would grant" | "no owner given";
}

/**
 * Gives libraries without an owner one: that of the map, else the one of `--owner`. Those that have one stay as they are, so it can
 * be run again.
 */
export async function backfill(flags: BackfillFlags): Promise<number> {
  const owners = await readMap(flags.map);
  const { libraries } = (await ask(flags, { path: "/libraries" })) as { libraries: Json[] };
  const { memberships } = (await ask(flags, { path: "/memberships" })) as { memberships: Json[] };
  const owned = new Map(
    memberships
      .filter(({ role }) => role === "owner")
      .map(({ library_uid: uid, user }) => [uid as string, user as string]),
  );
  const steps: Step[] = [];
  for (const { uid } of libraries) {
    const library = uid as string;
    const owner = owned.get(library) ?? owners.get(library) ?? flags.owner;
    steps.push({ library, owner: owner ?? "-", done: await give(flags, library, owner, owned) });
  }
  console.log(flags.json ? JSON.stringify({ libraries: steps }, null, 2) : table(steps));
  return steps.some(({ done }) => done === "no owner given") ? 1 : 0;
}

async function give(
  flags: BackfillFlags,
  library: string,
  owner: string | undefined,
  owned: ReadonlyMap<string, string>,
): Promise<Step["done"]> {
  if (owned.has(library)) return "owned";
  if (owner === undefined) return "no owner given";
  if (flags.dryRun) return "would grant";
  const body = { library, user: owner, role: "owner" };
  await ask(flags, { method: "POST", path: "/memberships", body });
  return "granted";
}

/** Lines of `library,user`; empty ones and those that begin with # are left out. */
async function readMap(file: string | undefined): Promise<ReadonlyMap<string, string>> {
  if (file === undefined) return new Map();
  const text = await readFile(file, "utf8").catch((cause: unknown) => {
    throw new GatewayError("io_error", `${file} cannot be read.`, { cause, hint: "Check --map." });
  });
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  const pairs = lines.flatMap((line, at) =>
    line === "" || line.startsWith("#") ? [] : ([[line, at + 1]] as const),
  );
  return new Map(pairs.map(([line, number]) => pairOf(line, file, number)));
}

function pairOf(line: string, file: string, number: number): readonly [string, string] {
  const [library = "", owner = "", ...more] = line.split(",").map((part) => part.trim());
  if (library !== "" && owner !== "" && more.length === 0) return [library, owner];
  throw new GatewayError("invalid", `${file}:${number} is not "library,user".`, {
    hint: "Write the uid of a library, a comma and the id of a user.",
  });
}
