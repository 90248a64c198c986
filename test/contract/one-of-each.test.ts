import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { importGraph } from "./imports.ts";

/** What runs in a browser cannot import the kit, which is made for Node. */
const BROWSER = /^plugins\/[\w-]+\/web\//;

const code = new Map(
  [...importGraph().keys()]
    .filter((file) => /^(?:core|plugins)\//.test(file) && !BROWSER.test(file))
    .map((file) => [
      file,
      readFileSync(file, "utf8").replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, ""),
    ]),
);

/** What the product needs in several places, by how its code looks, and the one file that has it. */
const ONE: Readonly<Record<string, readonly [RegExp, ...string[]]>> = {
  "exponential backoff": [/\* 2 \*\*|\*= 2\b|Math\.pow\(2/, "core/kit/backoff.ts"],
  "writer of server-sent events": [/`(?:event|data): |"(?:event|data): "/, "core/kit/sse-body.ts"],
  "environment of a child": [/\bPATHEXT\b|"LC_ALL"/, "core/kit/environment.ts"],
  "key of an owner": [/\$\{(?:\w+\.)?kind\}:\$\{(?:\w+\.)?id\}/, "core/kit/principal.ts"],
  "test for loopback": [/[!=]== "(?:localhost|::1)"/, "core/kit/addresses.ts"],
  "list of the names of this machine": [
    /"localhost", "127\.0\.0\.1"/,
    "core/http/allowed-hosts.ts",
  ],
  "host without its brackets": [/hostname\.replace|replace\(\/\^\\\[/, "core/kit/addresses.ts"],
  "test for every interface": [/[!=]== "(?:0\.0\.0\.0|::|\[::\])"/, "core/kit/addresses.ts"],
  "address to listen on": [/"Address to bind\."/, "core/config/schema.ts"],
  "choice of the body of an error": [/application\/problem\+json/, "core/kit/errors.ts"],
  "reader of JSON pointers": [/"~1"/, "core/kit/json-pointer.ts"],
  "pattern with *": [/\.split\("\*"\)|replaceAll\("\*"/, "core/kit/wildcard.ts"],
  "sentence about an HTTP status": [/wants authentication/, "core/kit/faults.ts"],
  "principal that is written down": [/\(\?:anonymous\|key\|user/, "core/kit/kept.ts"],
  // What is apart: the page that Vite makes, whose files are its own.
  "writer of a page": [/text\/html; charset/, "core/kit/html.ts", "plugins/ui/policy.ts"],
  "entity tag": [/if-none-match"\)/, "core/http/request.ts"],
  // What is apart: builds, and their stand-in for what is missing; a kit and an exporter that take other codes for it, too.
  "import of what may be missing": [
    /"(?:ERR_)?MODULE_NOT_FOUND"/,
    "core/kit/optional-import.ts",
    "core/build/build.ts",
    "core/build/modules.ts",
    "plugins/conformance/peer.ts",
    "plugins/telemetry/sdk.ts",
  ],
  // What is apart: MCP servers on a client of their own (its parser is below), webhooks at addresses of strangers, and the models'
  // packages, which want fetch.
  "HTTP client": [
    /import\("undici"\)|^import \{[^}]*\} from "undici"/m,
    "core/kit/http-client.ts",
    "plugins/a2a/standard/push/webhook.ts",
    "plugins/agents/models/provider.ts",
    // By way of a proxy, which the client of our own does not know.
    "plugins/servers/pool/undici-pool.ts",
  ],
  "reader of key sets": [/create(?:Local|Remote)JWKSet/, "plugins/keys/key-set.ts"],
  "reader of HTTP responses": [/HTTP\\\/1/, "plugins/servers/pool/http-parser.ts"],
};

it.each(Object.entries(ONE))("there is one %s", (_, [looks, ...where]) => {
  const found = [...code].filter(([, text]) => looks.test(text)).map(([file]) => file);
  expect(found.toSorted()).toEqual(where.toSorted());
});
