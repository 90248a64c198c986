/** Load of the kind that stays open: sessions, event streams, progress. Runs inside the load process. */
import { Connection } from "./connection.mjs";
import { converse } from "./dialect.mjs";

const held = [];

/** Opens `count` legacy sessions and, with `streams`, a GET event stream on each; they stay open until the load process ends. */
export async function openSessions({ port, path, count, streams }) {
  const call = { method: "ping", params: {} };
  const connection = await Connection.open(port);
  for (let index = 0; index < count; index++) {
    const build = await converse(connection, { dialect: "legacy", path, port, call });
    if (streams) await openStream(port, path, build("100000000"));
  }
  connection.close();
}

/** Opens legacy sessions and ends them again for `ms`, on 16 connections: three requests each. */
export async function cycleSessions({ port, path, ms, authorization }) {
  const until = performance.now() + ms;
  const call = { method: "ping", params: {} };
  const counts = await Promise.all(
    Array.from({ length: 16 }, async () => {
      const connection = await Connection.open(port);
      let count = 0;
      for (; performance.now() < until; count++) {
        const wanted = { dialect: "legacy", path, port, call, authorization };
        const request = (await converse(connection, wanted))("100000000");
        const kept = request.match(/^(?:mcp-session-id|authorization): .*\r\n/gim) ?? [];
        const { status } = await connection.request(
          `DELETE ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nmcp-protocol-version: 2025-11-25\r\n` +
            `${kept.join("")}\r\n`,
        );
        if (status >= 300) throw new Error(`DELETE answered ${status}`);
      }
      connection.close();
      return count;
    }),
  );
  return { count: counts.reduce((sum, one) => sum + one, 0) };
}

async function openStream(port, path, request) {
  const session = /mcp-session-id: ([^\r]*)/i.exec(request)[1];
  const connection = await Connection.open(port);
  held.push(connection);
  const head =
    `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\naccept: text/event-stream\r\n` +
    `mcp-protocol-version: 2025-11-25\r\nmcp-session-id: ${session}\r\n\r\n`;
  await new Promise((resolve, reject) => {
    connection.send(
      head,
      reject,
      () => {},
      ({ status }) => (status === 200 ? resolve() : reject(new Error(`GET answered ${status}`))),
    );
  });
}

/**
 * Runs `streams` calls of the upstream's `progress` tool at once, each reporting `count` times every `interval` ms (0 = burst).
 * Rejects unless every notification arrives once, in order, under the caller's own token.
 */
export async function relayProgress({ port, path, dialect, streams, count, interval }) {
  const from = performance.now();
  await Promise.all(
    Array.from({ length: streams }, (_, index) =>
      progressCall({ port, path, dialect, count, interval, token: `token-${index}` }),
    ),
  );
  return { count: streams * count, elapsed: performance.now() - from };
}

async function progressCall({ port, path, dialect, count, interval, token }) {
  const connection = await Connection.open(port);
  const call = {
    method: "tools/call",
    params: { name: "progress", arguments: { count, interval }, _meta: { progressToken: token } },
  };
  const build = await converse(connection, { dialect, path, port, call });
  const reader = new ProgressReader(token);
  await new Promise((resolve, reject) => {
    connection.send(
      build("100000000"),
      (error) => (error ? reject(error) : resolve()),
      (piece) => reader.read(piece),
    );
  });
  connection.close();
  if (reader.fault) throw new Error(reader.fault);
  if (reader.seen !== count || !reader.answered)
    throw new Error(
      `progress: ${reader.seen} of ${count} notifications, answered: ${reader.answered}`,
    );
}

/** Reads the frames of one call's event stream. */
class ProgressReader {
  seen = 0;
  answered = false;
  /** The first thing that was wrong. */
  fault;
  #token;
  #text = "";

  constructor(token) {
    this.#token = token;
  }

  read(piece) {
    this.#text += piece.toString("latin1");
    const frames = this.#text.split("\n\n");
    this.#text = frames.pop();
    for (const frame of frames) this.#frame(frame);
  }

  #frame(frame) {
    const data = /^data: ?(\{.*)$/m.exec(frame)?.[1];
    if (!data) return;
    const message = JSON.parse(data);
    if (message.method !== "notifications/progress") {
      this.answered ||= message.result !== undefined;
      return;
    }
    const { progress, progressToken } = message.params;
    if (progressToken !== this.#token)
      this.fault ??= `progress for ${progressToken} on the stream of ${this.#token}`;
    if (progress !== ++this.seen) this.fault ??= `progress ${progress} where ${this.seen} was due`;
  }
}
