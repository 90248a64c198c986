import { readFileSync, writeFileSync } from "node:fs";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, it, onTestFinished } from "vitest";
import { connectClient, freePort } from "../../core/testing/index.ts";
import { cleanEnvironment, run } from "../create-gateway/creator.ts";
import { PATIENCE } from "../fixtures/ci.ts";
import { openCheckout } from "../fixtures/checkout.ts";
import { keepOnlyPropylon, startRegistry } from "../fixtures/registry.ts";
import { makeFolder } from "../kit/folder.ts";

/** The block below the heading about a project of one's own: what makes the project, what installs it, what starts it. */
const BLOCK =
  /\n## Start your own project\n[^]*?```sh\nnpm ci && ([^]+?)\ncd my-gateway && (npm install) && (npm start)\n```\n/;

it(
  "43: README's commands make a project from a clean clone, install it and start it",
  { timeout: PATIENCE * 300_000 },
  async () => {
    // The checkout has what npm ci installs.
    const [, make, install, start] = BLOCK.exec(readFileSync("README.md", "utf8"))!;
    const checkout = openCheckout();
    onTestFinished(() => checkout.close());
    const registry = await startRegistry();
    onTestFinished(() => registry.close());
    const home = makeFolder();
    // Servers of the project get no variables of the gateway, and the npx of one must not reach another registry either.
    writeFileSync(join(home, ".npmrc"), `registry=${registry.url}\nfetch-retries=0\n`);
    const port = String(await freePort());
    const env = cleanEnvironment({
      HOME: home,
      PORT: port,
    }) as NodeJS.ProcessEnv;
    const project = join(checkout.folder, "my-gateway");
    const does = async (cwd: string, commands: string): Promise<void> => {
      const { code, stderr } = await run("sh", ["-ec", commands], { cwd, env });
      expect({ commands, code, stderr }).toEqual({ commands, code: 0, stderr });
    };

    await does(checkout.folder, make!);
    keepOnlyPropylon(join(project, "package.json"));
    await does(project, install!);
    await serve(project, start!, env);

    const key = /^GATEWAY_KEY=(.+)$/m.exec(readFileSync(join(project, ".env"), "utf8"))![1]!;
    const headers = { authorization: `Bearer ${key}` };
    const client = await connectClient(`http://127.0.0.1:${port}/mcp`, { headers });
    onTestFinished(() => client.close());
    const answer = await client.callTool({ name: "greet", arguments: { name: "Ada" } });
    expect(answer.content).toEqual([{ type: "text", text: "Hello, Ada!" }]);
  },
);

/** Starts a gateway until the end of the test, and waits until it says that it is ready. */
async function serve(cwd: string, command: string, env: NodeJS.ProcessEnv): Promise<void> {
  const child = spawn("sh", ["-c", `exec ${command}`], {
    cwd,
    env,
    detached: true,
    stdio: ["ignore", "pipe", "inherit"],
  });
  // The gateway has the stream, too, and ends after npm.
  const ended = once(child, "close");
  onTestFinished(async () => {
    if (child.exitCode === null) process.kill(-child.pid!, "SIGTERM");
    await ended;
  });
  for await (const line of createInterface({ input: child.stdout }))
    if (line.includes("gateway ready")) return void child.stdout.resume();
  throw new Error(`${command} ended before it was ready.`);
}
