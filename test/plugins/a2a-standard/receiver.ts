import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished } from "vitest";

interface Changed {
  readonly id?: string;
  readonly taskId?: string;
  readonly status: { readonly state: string };
}

/** One item of a stream, as far as tests look at it. */
export interface Told {
  readonly task?: Changed;
  readonly statusUpdate?: Changed;
}

/** What a webhook received. */
export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: Told;
}

/** A real receiver. `answer` says the status of each request by its number, from 0; 0: none is given. */
export async function startReceiver(answer: (count: number, told: Told) => number = () => 204) {
  const received: Received[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => (text += chunk.toString()));
    request.on("end", () => {
      const body = JSON.parse(text) as Told;
      const status = answer(received.length, body);
      received.push({ headers: request.headers, body });
      if (status > 0)
        response.writeHead(status, status === 302 ? { location: "/elsewhere" } : {}).end();
    });
  });
  server.on("connection", () => connections++);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const ids = (state?: string) =>
    received.flatMap(({ headers, body }) =>
      state === undefined || stateOf(body) === state ? [headers["webhook-id"]] : [],
    );
  const states = () => received.map(({ body }) => stateOf(body));
  return {
    received,
    port,
    url: `http://127.0.0.1:${port}/hook?key=url-secret`,
    connections: () => connections,
    states,
    /** Ids of notifications, of one state or all, one for each attempt. */
    ids,
    /** The same of notifications that told how a task ended. */
    endsOf: (task: string) =>
      received.flatMap(({ headers, body: { task: whole, statusUpdate } }) => {
        const { id, taskId = id, status } = whole ?? statusUpdate ?? {};
        const isEnd = /COMPLETED|FAILED|CANCELED/.test(status?.state ?? "");
        return isEnd && taskId === task ? [headers["webhook-id"]] : [];
      }),
    /** Resolves when a notification told of a final state. */
    async end() {
      await expect.poll(() => states().at(-1)).toMatch(/COMPLETED|CANCELED/);
    },
  };
}

export function stateOf({ task, statusUpdate }: Told): string | undefined {
  return (task ?? statusUpdate)?.status.state;
}
