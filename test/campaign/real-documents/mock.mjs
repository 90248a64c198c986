/** An API made of a document: it looks at what arrives, and answers what the document promises. */
import { createServer } from "node:http";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join, normalize } from "node:path";
import { endpointsOf } from "./document.mjs";
import { leavesOf, readRequest } from "./request.mjs";
import { toAnswer } from "./samples.mjs";

export class MockApi {
  /** In the order of the document. */
  endpoints = [];
  answer = {};
  #text = "";
  #folder = "";
  #expected;
  #arrived = [];
  #server = createServer((req, res) => void this.#serve(req, res));

  async start() {
    await once(this.#server.listen(0, "127.0.0.1"), "listening");
    this.origin = `http://127.0.0.1:${this.#server.address().port}`;
    return this;
  }

  /** @param folder where the document is: it may refer to what lies beside it */
  load(text, root, folder) {
    this.#text = text;
    this.#folder = folder;
    this.#expected = undefined;
    this.endpoints = endpointsOf(root);
  }

  /** The next request is for this endpoint. */
  expect(endpoint) {
    this.#expected = endpoint;
    this.#arrived = [];
    this.answer = toAnswer(endpoint);
  }

  /** What is wrong with what arrived for a call with such arguments. */
  async problems(given) {
    if (this.#arrived.length !== 1) return [`${this.#arrived.length} requests arrived`];
    const [request] = this.#arrived;
    const { leaves, problems } = await readRequest(this.#expected, request);
    const wanted = leavesOf(given).toSorted(byText);
    // An argument may choose the type of the body.
    const chosen = wanted.indexOf(request.headers["content-type"]);
    if (chosen !== -1 && !leaves.includes(wanted[chosen])) wanted.splice(chosen, 1);
    const came = leaves.toSorted(byText);
    if (JSON.stringify(wanted) !== JSON.stringify(came))
      problems.push(`lost ${without(wanted, came)}; came ${without(came, wanted)}`);
    return problems.length > 0 ? [...problems, `${request.method} ${request.url}`] : [];
  }

  close() {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #serve(req, res) {
    if (req.url === "/openapi") return void res.end(this.#text);
    if (this.#expected === undefined) return void this.#serveOther(req.url, res);
    const { method, url, headers } = req;
    this.#arrived.push({ method, url, headers, body: Buffer.concat(await req.toArray()) });
    const { status, type, body } = this.answer;
    res.writeHead(status, type ? { "content-type": type } : {}).end(body);
  }

  async #serveOther(path, res) {
    const file = join(this.#folder, normalize(decodeURIComponent(path)));
    const text = await readFile(file).catch(() => undefined);
    res.writeHead(text === undefined ? 404 : 200).end(text);
  }
}

function byText(one, other) {
  return one < other ? -1 : Number(one > other);
}

function without(values, others) {
  const left = [...others];
  const more = values.filter((each) => {
    const at = left.indexOf(each);
    if (at !== -1) left.splice(at, 1);
    return at === -1;
  });
  return more.slice(0, 5).join(" ") || "nothing";
}
