import net from "node:net";

/** One response as the load generator sees it: the body in its pieces, never copied together unless asked. */
export class Response {
  status = 0;
  headers = "";
  pieces = [];
  length = 0;

  header(name) {
    const match = new RegExp(`\\r\\n${name}: *([^\\r]*)`, "i").exec(this.headers);
    return match?.[1];
  }

  text() {
    return this.pieces.length === 1
      ? this.pieces[0].toString("latin1")
      : Buffer.concat(this.pieces).toString("latin1");
  }

  /** The first and last bytes, where a JSON-RPC message keeps its id. */
  edges() {
    const last = this.pieces.at(-1);
    return `${this.pieces[0].toString("latin1", 0, 300)}…${last.toString("latin1", Math.max(0, last.length - 300))}`;
  }
}

/**
 * A keep-alive HTTP/1.1 connection on a raw socket. A library client would cost more than the targets it measures, and tools
 * such as wrk cannot check every response at full speed.
 */
export class Connection {
  #socket;
  #rest;
  #response;
  #done;
  #onPiece;
  #onHead;
  /** Body bytes still to come; -1 = chunked, between chunks. */
  #left = 0;
  #chunked = false;
  #state = "head";

  static open(port) {
    const connection = new Connection();
    return new Promise((resolve, reject) => {
      const socket = net.connect(port, "127.0.0.1", () => resolve(connection));
      socket.setNoDelay(true);
      socket.on("data", (chunk) => connection.#read(chunk));
      socket.on("error", (error) => (reject(error), connection.#fail(error)));
      socket.on("close", () => connection.#fail(new Error("connection closed by the target")));
      connection.#socket = socket;
    });
  }

  /**
   * Sends one request and calls `done(error, response)`. `onPiece` sees body bytes as they arrive instead of keeping them;
   * `onHead` is called when the response head is there.
   */
  send(request, done, onPiece, onHead) {
    this.#done = done;
    this.#onPiece = onPiece;
    this.#onHead = onHead;
    this.#response = new Response();
    this.#socket.write(request, "latin1");
  }

  request(request) {
    return new Promise((resolve, reject) =>
      this.send(request, (error, response) => (error ? reject(error) : resolve(response))),
    );
  }

  close() {
    this.#done = undefined;
    this.#socket.destroy();
  }

  #fail(error) {
    const done = this.#done;
    this.#done = undefined;
    done?.(error);
  }

  #read(chunk) {
    let buffer = this.#rest ? Buffer.concat([this.#rest, chunk]) : chunk;
    this.#rest = undefined;
    while (buffer.length > 0 && this.#done) {
      const rest =
        this.#state === "head"
          ? this.#head(buffer)
          : this.#state === "size"
            ? this.#size(buffer)
            : this.#body(buffer);
      if (rest === undefined) {
        this.#rest = buffer;
        return;
      }
      buffer = rest;
    }
  }

  #head(buffer) {
    const end = buffer.indexOf("\r\n\r\n");
    if (end < 0) return undefined;
    const head = buffer.latin1Slice(0, end);
    this.#response.headers = head;
    this.#response.status = Number(head.slice(9, 12));
    const length = /\r\ncontent-length: *(\d+)/i.exec(head);
    this.#chunked = length === null && /\r\ntransfer-encoding: *chunked/i.test(head);
    this.#left = length ? Number(length[1]) : 0;
    this.#state = this.#chunked ? "size" : "body";
    this.#onHead?.(this.#response);
    if (!this.#chunked && this.#left === 0) this.#end();
    return buffer.subarray(end + 4);
  }

  #size(buffer) {
    const end = buffer.indexOf("\r\n");
    if (end < 0) return undefined;
    if (end === 0) return buffer.subarray(2); // the line break behind a chunk
    this.#left = Number.parseInt(buffer.latin1Slice(0, end), 16);
    if (this.#left > 0) {
      this.#state = "body";
      return buffer.subarray(end + 2);
    }
    if (buffer.length < end + 4) return undefined;
    this.#end();
    return buffer.subarray(end + 4);
  }

  #body(buffer) {
    const piece = buffer.length > this.#left ? buffer.subarray(0, this.#left) : buffer;
    this.#left -= piece.length;
    this.#response.length += piece.length;
    if (this.#onPiece) this.#onPiece(piece);
    else this.#response.pieces.push(piece);
    if (this.#left === 0) {
      if (this.#chunked) this.#state = "size";
      else this.#end();
    }
    return buffer.subarray(piece.length);
  }

  #end() {
    this.#state = "head";
    const { done, response } = { done: this.#done, response: this.#response };
    this.#done = undefined;
    done?.(undefined, response);
  }
}
