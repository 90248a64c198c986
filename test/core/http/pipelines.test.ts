import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect, it, onTestFinished } from "vitest";
import { until } from "../../fixtures/until.ts";
import { openRig, type Rig } from "./wire.ts";

async function rigWith(fetch: (path: string) => Response | Promise<Response>): Promise<Rig> {
  const rig = await openRig({ app: { fetch: (request) => fetch(new URL(request.url).pathname) } });
  onTestFinished(() => rig.listener.close(0));
  return rig;
}

/** Sends requests at once; what came back until the connection was closed. */
async function send({ port }: Rig, paths: readonly string[]): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  const heads = paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n`);
  socket.write(
    `${heads
      .slice(0, -1)
      .map((head) => `${head}\r\n`)
      .join("")}${heads.at(-1)}Connection: close\r\n\r\n`,
  );
  return text(socket).catch(() => "cut off");
}

const paths = (count: number): string[] => Array.from({ length: count }, (_, at) => `/n${at}`);

it("S2-3: requests that come at once are answered in their order, each when the one before it is", async () => {
  let running = 0;
  let most = 0;
  const rig = await rigWith(async (path) => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
    return new Response(path);
  });
  const answers = await send(rig, paths(100));
  expect(answers.match(/\/n\d+/g)).toEqual(paths(100));
  expect(most).toBe(1);
});

it("S2-3: a connection with more than 100 requests that wait is cut off, and the next is served", async () => {
  const started: string[] = [];
  const rig = await rigWith((path) => {
    started.push(path);
    return new Response(path);
  });
  await send(rig, paths(500));
  expect(started.length).toBeLessThan(102);
  expect(await send(rig, ["/after"])).toContain("/after");
});

it("S2-3, sibling: what waits on a connection that its client leaves is never begun", async () => {
  const started: string[] = [];
  let finish = (): void => undefined;
  const rig = await rigWith(async (path) => {
    started.push(path);
    if (path === "/n0") await new Promise<void>((resolve) => (finish = resolve));
    return new Response(path);
  });
  const socket = connect(rig.port, "127.0.0.1");
  for (const path of paths(3))
    socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${rig.port}\r\n\r\n`);
  await until(() => started.length === 1);
  socket.destroy();
  await new Promise((resolve) => socket.once("close", resolve));
  finish();
  expect(await send(rig, ["/after"])).toContain("/after");
  expect(started).toEqual(["/n0", "/after"]);
});
