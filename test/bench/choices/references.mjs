import { createServer } from "node:http";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { absolute, References } from "../../../dist/modules/plugins/rest/reading/references.js";
import { readDocument } from "../../../dist/modules/plugins/rest/reading/document.js";
import { range } from "./turns.mjs";

const SCHEMAS = 500;
const ROUNDS = 9;

/** Reading an API of 500 schemas that refer to each other, and what a document of a stranger can make each of them do. */
export async function references() {
  const library = await import("@apidevtools/json-schema-ref-parser").then(
    ({ $RefParser }) => $RefParser,
    () => undefined,
  );
  if (!library) return ["install @apidevtools/json-schema-ref-parser first"];
  const folder = mkdtempSync(join(tmpdir(), "propylon-references-"));
  const readers = {
    ours: (file) =>
      readDocument(pathToFileURL(file), {
        headers: {},
        limit: 16_777_216,
        signal: AbortSignal.timeout(60_000),
      }),
    library: (file) => library.dereference(file),
  };
  try {
    return [
      await speed(library),
      await chain(library),
      ...(await Promise.all(Object.entries(readers).map(hostile(folder)))),
    ];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function speed(library) {
  const ratios = [];
  for (let round = -1; round < ROUNDS; round++) {
    const own = await cpuOf(() => readAll(apiOf(SCHEMAS)));
    const theirs = await cpuOf(() => library.dereference(apiOf(SCHEMAS)));
    if (round >= 0) ratios.push(theirs / own);
  }
  return `CPU to read ${SCHEMAS} schemas: the library's is ${range(ratios)} times ours`;
}

/** Schemas that refer to each other in a row. */
async function chain(library) {
  const long = 2_000;
  readAll(apiOf(long));
  const end = await library.dereference(apiOf(long)).then(
    () => "read",
    (error) => error.constructor.name,
  );
  return `${long} schemas in a row: ours read, the library ${end}`;
}

/** Every reference is followed once, as reading the operations does. */
function readAll(api) {
  const base = new URL("file:///api.json");
  const root = absolute(api, base, () => {});
  const found = new References(new Map([[base.href, root]]));
  for (const { properties } of Object.values(root.components.schemas))
    found.follow(properties.next);
}

async function cpuOf(run) {
  const before = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

function apiOf(count) {
  const schemaOf = (at) => ({
    type: "object",
    properties: {
      id: { type: "string", description: `The id of thing ${at}.` },
      next: { $ref: `#/components/schemas/S${(at + 1) % count}` },
    },
  });
  const schemas = Object.fromEntries(
    Array.from({ length: count }, (_, at) => [`S${at}`, schemaOf(at)]),
  );
  return {
    openapi: "3.1.0",
    info: { title: "t", version: "1" },
    paths: {},
    components: { schemas },
  };
}

/** What becomes of a document that refers to a file elsewhere, to an address inside the network, and of one that nests deep. */
function hostile(folder) {
  return async ([name, read]) => {
    const secret = join(mkdtempSync(join(folder, "secret-")), "secret.json");
    writeFileSync(secret, '{"password":"x"}');
    let visits = 0;
    const inside = createServer((_req, res) => {
      visits++;
      res.end('{"type":"string"}');
    });
    await new Promise((resolve) => inside.listen(0, "127.0.0.1", resolve));
    const { port } = inside.address();
    const place = mkdtempSync(join(folder, "api-"));
    const tryOne = async (schema) => {
      const file = join(place, "api.json");
      const api = { ...apiOf(2), components: { schemas: { S: schema } } };
      writeFileSync(file, typeof schema === "string" ? schema : JSON.stringify(api));
      return read(file).then(
        () => "read",
        (error) => error.constructor.name,
      );
    };
    const file = await tryOne({ $ref: pathToFileURL(secret).href });
    const address = await tryOne({ $ref: `http://127.0.0.1:${port}/internal` });
    const deep = await tryOne(`{"openapi":"3.1.0","a":${"[".repeat(20_000)}${"]".repeat(20_000)}}`);
    inside.close();
    return `${name}: a file elsewhere ${file}, an address inside the network ${address} (${visits} visits), 20,000 levels ${deep}`;
  };
}
