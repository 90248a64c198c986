import { spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { findSuite } from "../conformance/suite.mjs";
import { Browser } from "../fixtures/browser.ts";
import { requirePresent } from "../fixtures/programs.ts";
import { setupLogin, visit } from "../plugins/oauth/kit.ts";

/** A port that nobody has at the moment: the suite wants one by its number. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

it("passes the authorization server scenarios of the official suite", async () => {
  requirePresent("the conformance suite", findSuite() !== undefined, undefined, false);
  const [node, entry] = findSuite()!;
  const clients = { suite: { name: "The suite", redirects: ["http://127.0.0.1/callback"] } };
  const { url, endpoint } = await setupLogin({ options: { clients } });
  const port = await freePort();
  const words = ["authorization", "--url", url, "--client-id", "suite", "--resource", endpoint];
  const child = spawn(node, [entry, ...words, "--port", String(port)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill());
  let output = "";
  let visiting: Promise<unknown> | undefined;
  const take = (chunk: Buffer): void => {
    output += chunk.toString();
    const start = /^https?:\/\/\S+\/oauth\/authorize\?\S+$/m.exec(output)?.[0];
    // The suite listens for the answer itself.
    if (start !== undefined) visiting ??= visit(new Browser(() => false), start);
  };
  child.stdout.on("data", take);
  child.stderr.on("data", take);
  const [code] = (await once(child, "close")) as [number | null];
  await visiting;
  const passed = [...output.matchAll(/^✓ (\S+): [1-9]\d* passed, 0 failed$/gm)].map(
    ([, name]) => name,
  );
  expect({ code, passed, output: passed.length === 2 ? "" : output }).toEqual({
    code: 0,
    passed: ["authorization-server-metadata-endpoint", "authorization-code-grant"],
    output: "",
  });
});
