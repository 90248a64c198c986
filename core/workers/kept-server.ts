import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { CreateServer } from "../http/app.ts";
import { HttpAnswer } from "../http/http-messages.ts";
import type { WorkerKeeper } from "./worker-keeper.ts";

/** Bytes of a body that the kernel takes with the head in one write: all of them or, when the process is killed, none. */
const WHOLE = 16 * 1024;

/** Makes servers that tell a keeper of each connection, of answers in parts, and of connections that stop being HTTP. */
export function createKeptServer(keeper: WorkerKeeper): CreateServer {
  // As that of every listener, its methods take what those of Node take.
  const KeptAnswer = answersFor(keeper) as unknown as typeof ServerResponse;
  return (options, onRequest) => {
    const server = createServer({ ...options, ServerResponse: KeptAnswer }, onRequest);
    server.on("connection", (socket: Socket) => keeper.keep(socket));
    for (const event of ["upgrade", "connect"])
      server.on(event, ({ socket }: IncomingMessage) => keeper.begin(socket));
    return server;
  };
}

/** Answers that tell a keeper when they are more than one write. */
function answersFor(keeper: WorkerKeeper): typeof HttpAnswer {
  return class KeptAnswer extends HttpAnswer {
    #isInParts = false;

    override flushHeaders(): void {
      this.#beginParts();
      super.flushHeaders();
    }

    override write(...written: Parameters<HttpAnswer["write"]>): boolean {
      this.#beginParts();
      return super.write(...written);
    }

    override end(...last: Parameters<HttpAnswer["end"]>): this {
      if (sizeOf(last[0]) > WHOLE) this.#beginParts();
      super.end(...last);
      // A client that reads too little of what it asked for before.
      if (this.writableLength > 0) this.#beginParts();
      return this;
    }

    #beginParts(): void {
      if (this.#isInParts) return;
      this.#isInParts = true;
      const { socket } = this.req;
      keeper.begin(socket);
      this.once("finish", () => keeper.end(socket));
    }
  };
}

function sizeOf(chunk: unknown): number {
  return typeof chunk === "string" || chunk instanceof Uint8Array ? chunk.length : 0;
}
