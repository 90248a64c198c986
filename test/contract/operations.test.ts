import { describe, expect, it } from "vitest";
import { z } from "zod";
import { operationCommands } from "propylon/cli";
import { formSchema } from "../../core/plugin/operation.ts";
import { definePlugin, operation, type Operation } from "../../core/index.ts";
import { setupGateway } from "../../core/testing/index.ts";
import * as audit from "../../plugins/team-auth/operations/audit-operations.ts";
import * as pages from "../../plugins/team-auth/operations/page-operations.ts";
import * as teams from "../../plugins/team-auth/operations/team-operations.ts";
import * as tokens from "../../plugins/team-auth/operations/token-operations.ts";
import * as users from "../../plugins/team-auth/operations/user-operations.ts";
import { operationTable } from "./operation-table.ts";
import { expectText } from "./page.ts";

/** Operations by the plugin on whose page they stand. */
const OPERATIONS: Readonly<Record<string, readonly Operation[]>> = {
  "team-auth": [users, tokens, teams, audit, pages]
    .flatMap((part) => Object.values<Readonly<Record<string, Operation>>>(part))
    .flatMap((group) => Object.values(group)),
};

const BLOCK = /(<!-- operations -->\n)[^]*?(<!-- \/operations -->)/g;

it.each(Object.keys(OPERATIONS))("docs/plugins/%s.md has the table of its operations", (name) => {
  expectText(`docs/plugins/${name}.md`, (text) => {
    expect(text.match(BLOCK)).toHaveLength(1);
    const rows = operationTable(OPERATIONS[name]!);
    return text.replace(BLOCK, (_, start: string, end: string) => `${start}\n${rows}\n\n${end}`);
  });
});

/** The operation of a team with one field more, as if it stood in its file. */
const { input, ...create } = teams.TEAMS.create;
const withColor = operation({
  ...create,
  input: input.extend({
    color: z.enum(["red", "blue"]).optional().meta({ description: "how it is shown" }),
  }),
});

describe("issue 41 line 4: a field that is added to the operation of a team", () => {
  it("is taken by its route, and checked there", async () => {
    const paint = definePlugin({
      name: "paint",
      setup(gateway) {
        withColor.serve(gateway, async ({ context }, read) => ({
          body: await read(),
          target: context["target"],
        }));
      },
    });
    const { url } = await setupGateway({
      plugins: [paint],
      config: { management: { mutations: true } },
      client: false,
    });
    const send = async (body: object): Promise<{ status: number; answer: unknown }> => {
      const response = await fetch(url + withColor.path, {
        method: withColor.method,
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      return { status: response.status, answer: await response.json() };
    };
    const team = { id: "a3f10000-0000-4000-8000-00000000000a", name: "Kottos" };
    expect(await send({ ...team, color: "red" })).toEqual({
      status: 200,
      answer: { body: { ...team, color: "red" }, target: { id: team.id } },
    });
    expect((await send({ ...team, color: "green" })).status).toBe(422);
    expect((await send({ ...team, shape: "round" })).status).toBe(422);
  });

  it("is a flag of its command", () => {
    const before = operationCommands("team-auth", [teams.TEAMS.create])["create"]!;
    const after = operationCommands("team-auth", [withColor])["create"]!;
    expect(after.arguments).toBe(before.arguments);
    const flag = { flag: "--color <color>", description: "how it is shown" };
    expect(after.flags).toEqual([{ ...flag, choices: ["red", "blue"] }, ...before.flags!]);
  });

  it("is a field of its form", () => {
    expect(formSchema(withColor.input)).toMatchObject({
      properties: { color: { enum: ["red", "blue"], description: "how it is shown" } },
      required: ["id", "name"],
    });
  });

  it("is told on the page of the plugin", () => {
    expect(operationTable([teams.TEAMS.create])).toContain("`{id, name, owner?}`");
    expect(operationTable([withColor])).toContain("`{id, name, owner?, color?}`");
  });
});
