import { GatewayError, type RouteEvent } from "propylon";
import { readJson, writeJson } from "propylon/kit";
import { isSmall } from "propylon/internal";
import { z } from "zod";
import type { AdminContext } from "./administration.ts";
import type { AdminOptions } from "./options.ts";

const MAX_EDITS = 100;
/** Values of all edits together: to write one into the file and read the file again takes some 90 microseconds. */
const MAX_VALUES = 2_000;
/** Characters of all edits together: YAML reads a text of 4 MB for up to two seconds. */
const MAX_CHARACTERS = 200_000;

// The sentences are made when they are wanted: the first number that is written in a language loads what Node knows of languages.
const editsSchema = z.strictObject({
  edits: z
    .array(
      z
        .strictObject({
          path: z
            .array(z.union([z.string().max(500), z.int().min(0)]))
            .min(1)
            .max(32),
          value: z.unknown().optional(),
          when: z.enum(["absent", "present"]).optional(),
        })
        // Absent: the value goes out of the file.
        .transform((edit) => ({ value: undefined, ...edit })),
    )
    .min(1)
    .max(MAX_EDITS)
    .refine((edits) => isSmall(edits, MAX_VALUES), {
      error: () =>
        `may hold at most ${MAX_VALUES.toLocaleString("en")} values; edit the file for more`,
      abort: true,
    })
    .refine((edits) => writeJson(edits).length <= MAX_CHARACTERS, {
      error: () =>
        `may hold at most ${MAX_CHARACTERS.toLocaleString("en")} characters; edit the file for more`,
    }),
});

/** Answer of `GET /_meta/config/origin`: every value of the config in force, and whether it may be edited here. */
export type ConfigOriginView = ReturnType<typeof describeOrigin>;

/** Where each value of the config comes from, what a change of the file would do, and the change itself. */
export function editRoutes(gateway: AdminContext, options: AdminOptions): void {
  const { management } = gateway.services;
  const look = { access: "operator", mutates: false, management: true } as const;
  const check = { ...look, access: "admin" } as const;
  gateway.route("GET", "/_meta/config/origin", look, ({ res }) => {
    res.headers.set("etag", `"${management.configVersion}"`);
    return describeOrigin(gateway, options);
  });
  gateway.route("POST", "/_meta/config/check", check, async (event) => {
    permit(gateway, options);
    const { edits } = await readJson(event, editsSchema);
    return { ok: true, ...(await management.checkEdit(edits)) };
  });
  gateway.route("PUT", "/_meta/config", { ...check, mutates: true }, async (event) => {
    permit(gateway, options);
    const expected = expectedVersion(event);
    const { edits } = await readJson(event, editsSchema);
    event.context.target = { paths: edits.map(({ path }) => path.join(".")).join(" ") };
    const report = await management.edit(edits, expected);
    return { ok: true, ...report, version: management.configVersion };
  });
}

function describeOrigin(gateway: AdminContext, options: AdminOptions) {
  const { management } = gateway.services;
  const why = refusalOf(gateway, options);
  return {
    ok: true,
    file: management.configFile ?? null,
    generation: gateway.info.generation,
    version: management.configVersion,
    editable: !why,
    why: why ? { message: why.message, hint: why.hint ?? null } : null,
    values: management.configValues(),
  };
}

function permit(gateway: AdminContext, options: AdminOptions): void {
  const refusal = refusalOf(gateway, options);
  if (refusal) throw refusal;
}

/** Who writes the config decides which programs run, and which variables of the gateway they are given. */
function refusalOf(
  { services }: AdminContext,
  { allowConfigEdits }: AdminOptions,
): GatewayError | undefined {
  if (!allowConfigEdits)
    return new GatewayError("read_only", "The config is not to be edited over the API.", {
      hint: "Set plugins.admin.allowConfigEdits: true, or edit the file.",
    });
  if (services.management.configFile !== undefined) return undefined;
  return new GatewayError("no_config_mode", "The gateway runs without a config file.", {
    hint: "Start it with propylon start <file>.",
  });
}

/** @throws {GatewayError} `bad_request` without If-Match: a change that was made for another config would be applied to this one */
function expectedVersion({ req }: RouteEvent): string {
  const tag = /^"([^"]+)"$/.exec(req.headers.get("if-match") ?? "")?.[1];
  if (tag !== undefined) return tag;
  throw new GatewayError("bad_request", "A change of the config needs If-Match.", {
    hint: "Send the ETag of GET /_meta/config/origin.",
  });
}
