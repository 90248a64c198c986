import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { digestOf } from "propylon/kit";
import { expect, it } from "vitest";
import { createKey } from "../../../plugins/keys/key.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import { makeFolder } from "../../kit/folder.ts";
import { until } from "../../kit/until.ts";

const operator = createKey("operator");
const viewer = createKey("viewer");
const hash = (key: string): string => `sha256:${digestOf(key)}`;

/** A server that says things and dies. */
const CHILD = `
for (let i = 1; i <= 5; i++) console.error("line " + i);
console.error("token of the file " + process.env.TOKEN);
console.error("from the environment " + process.env.FROM_ENV);
console.error("https://user:pass@example.com/path?key=1");
console.error("x ".repeat(5000));
process.exit(1);
`;

async function start() {
  const folder = makeFolder();
  const file = join(folder, "gateway.yaml");
  await writeFile(join(folder, "child.mjs"), CHILD);
  await writeFile(
    file,
    `auth:
  keys:
    run: { role: operator, hash: "${hash(operator)}" }
    look: { role: viewer, hash: "${hash(viewer)}" }
servers:
  alpha:
    command: node
    args: [child.mjs]
    env: { TOKEN: literal-secret, FROM_ENV: "\${FROM_ENV}" }
  remote: { url: "http://127.0.0.1:9/mcp" }
  off: { command: node, enabled: false }
plugins:
  gating: { state: false }
  admin: {}
`,
  );
  const { url, gateway } = await setupGateway({
    file,
    environment: { FROM_ENV: "variable-secret" },
    client: false,
  });
  return {
    gateway,
    ask: async (path: string, key = operator) => {
      const response = await fetch(`${url}/_meta/servers/${path}`, {
        headers: { authorization: `Bearer ${key}` },
      });
      // eslint-disable-next-line typescript/no-explicit-any -- bodies of all shapes
      return { status: response.status, body: (await response.json()) as any };
    },
  };
}

it("operators read what a child wrote before it died, without its secrets", async () => {
  const { ask } = await start();
  const end = "x ".repeat(1_000);
  // It is started again and again, and may be in the middle of what it says.
  const askAtItsEnd = (lines: number) =>
    until(async () => {
      const answer = await ask(`alpha/stderr?lines=${lines}`);
      return answer.body.lines.length === lines && answer.body.lines.at(-1) === end && answer;
    });
  const { body } = await askAtItsEnd(9);
  expect(body).toEqual({
    ok: true,
    server: "alpha",
    available: true,
    lines: [
      "line 1",
      "line 2",
      "line 3",
      "line 4",
      "line 5",
      "token of the file ***",
      "from the environment ***",
      "https://***@example.com/path?key=***",
      end,
    ],
  });
  const last = await askAtItsEnd(1);
  expect(last.body.lines).toEqual([end]);
});

it("what is no child's has nothing, and is for nobody below operator", async () => {
  const { ask } = await start();
  for (const server of ["remote", "off"])
    expect((await ask(`${server}/stderr`)).body).toMatchObject({ available: false, lines: [] });
  expect((await ask("nobody/stderr")).status).toBe(404);
  expect((await ask("alpha/stderr", viewer)).status).toBe(403);
  for (const lines of ["0", "1001", "x"])
    expect((await ask(`alpha/stderr?lines=${lines}`)).status).toBe(422);
});
