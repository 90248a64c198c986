import { inFile, input, type FieldInput } from "./field-input.ts";

const names = inFile("e2e/field/names.long");
const documents = inFile("e2e/field/documents.long");
const upstreams = inFile("e2e/field/upstreams.long");
const front = inFile("e2e/field/front");
const entries = inFile("e2e/field/entries");
const knownNames = inFile("plugins/mcp/known-names");
const connections = inFile("plugins/servers/connection-option.long");
const starting = inFile("plugins/servers/starting.long");
const proxies = inFile("plugins/servers/proxy-tls");
const gaps = inFile("plugins/servers/gaps");
const admission = inFile("core/server/admission");

/** What public reports about MCP gateways left, by the name of its folder. */
export const MCP_INPUTS: Readonly<Record<string, FieldInput>> = {
  "mcp-01-naming-auto-wrong-server": input(
    inFile("e2e/late-server")(
      "mcp-01: while one of two servers starts, and after a restart, its tool is nobody else's",
    ),
    knownNames(
      "the same goes for prompts, and for the first of two resources",
      "mcp-01: selects no tool of another server while one is late",
    ),
    inFile("plugins/mcp/names.unit")("a tool is never named as another server's prefixed tool"),
  ),
  "mcp-02-int64-arguments": input(
    inFile("e2e/exact-numbers")(
      "%s arrives and comes back as it was written",
      "%s comes back from data and from words",
      "reaches an API in its path, its query and a header",
      "the command line",
    ),
  ),
  "mcp-03-rest-int64-answer-is-failure": input(
    inFile("e2e/field/integers")(
      "mcp-03: %s is a success at both faces, and runs once each",
      "one in a list of a map",
      "one above the largest float",
      "one in nesting that is not read",
    ),
  ),
  "mcp-04-rest-204-is-failure": input(
    documents(
      "mcp-04: %s is a success at both faces",
      "an empty 200 of JSON",
      "205",
      "mcp-04: null is a success at both faces",
    ),
  ),
  "mcp-05-rest-null-query": input(
    documents(
      "mcp-05: is left out of the query that the official client asks for",
      "mcp-05: all of them are left out, and no question mark is",
      "mcp-05: is left out of a form",
    ),
    inFile("plugins/rest/arguments")(
      "in bodies, but where the document allows it or asks for it; a required one is told",
    ),
  ),
  "mcp-06-rest-charset": input(
    documents(
      "mcp-06: %s arrives as its letters",
      "text of Windows-1252",
      "CSV of UTF-16",
      "mcp-06: so does the reason of a failure",
    ),
  ),
  "mcp-07-long-names-vanish": input(
    names(
      "mcp-07: lose no tool, and each is called at its own",
      "mcp-07: the same goes for their prompts",
      "mcp-07: a tool whose name has %s is listed and called",
      "a blank and letters outside of ASCII",
    ),
  ),
  "mcp-08-shared-state-between-principals": input(
    connections(
      "mcp-08: over %s with connection: %s, another key reads %s",
      "mcp-08: calls without a session share that of their principal",
      "mcp-08: one key cannot have all connections by opening sessions",
      "mcp-08: who is evicted loses the connection, and nobody else",
    ),
  ),
  "mcp-09-upstream-redirect": input(
    upstreams("mcp-09: at %s, which redirects to %s, is called by the official client"),
    inFile("plugins/servers/http")(
      "mcp-09: HTTP+SSE follows too",
      "mcp-09: a redirect to %s is not followed, and the state says where it leads",
    ),
  ),
  "mcp-10-upstream-list-change-in-gap": input(
    upstreams(
      "mcp-10: clients hear of the list that changed meanwhile",
      "mcp-10: prompts that changed meanwhile are listed",
    ),
    gaps(
      "mcp-10: also where the stream is refused for a while first, and where it has event ids",
      "mcp-10: a server that ends its stream all the time is not asked for its lists all the time",
    ),
  ),
  "mcp-11-resource-update-in-gap": input(
    front(
      "mcp-11: hears of the resource that changed meanwhile, with the store %s",
      "mcp-11: hears of the list that changed meanwhile",
    ),
    upstreams("mcp-11: whoever watches a resource of it is told to read it again"),
    gaps("mcp-11: who watches a resource reads it again when the whole connection was lost"),
  ),
  "mcp-12-second-stream-409": input(
    front(
      "mcp-12: hears on its new stream of lists that change",
      "mcp-12: hears on its new stream of what it watches",
      "mcp-12: calls go on in its session",
    ),
    inFile("plugins/mcp/sessions.alone")(
      "mcp-12: the newest stream of a session is its stream, the one before stays open and silent",
    ),
  ),
  "mcp-13-well-known-405": input(
    front("mcp-13: finds none, as without the plugin openapi"),
    inFile("plugins/openapi/elsewhere")(
      "/nope/x",
      "/nope/invoke",
      "are 405 where one is, for whom it is there",
    ),
  ),
  "mcp-14-cold-npx": input(
    starting(
      "mcp-14: a child's first start has the time that an installation takes, and says so",
      "mcp-14: one that was ended has twice the time, until it has connected once",
      "a child with a time of its own",
      "mcp-14: the state names the option when the time was too short",
    ),
  ),
  "mcp-15-proxy-env-and-mtls": input(
    proxies(
      "mcp-15: proxy: environment reads HTTP_PROXY and NO_PROXY; without the option they change nothing",
      "mcp-15: a server over https is reached through a proxy that tunnels, with a password",
      "mcp-15: one over http is asked for by its whole URL",
      "mcp-15: a server that wants a client certificate gets it; without one it refuses",
    ),
  ),
  "mcp-17-session-lost-without-404": input(
    upstreams(
      "mcp-17: and says so with HTTP %d has the call once",
      "mcp-17: has a call over HTTP once",
      "mcp-17: has ten calls at once, once each",
    ),
    inFile("plugins/servers/session-loss")("200 on an event stream", "401 with words"),
  ),
  "mcp-19-unknown-tool-while-starting": input(
    names(
      "mcp-19: is called once the child is there, by a client that knows its name",
      "mcp-19: is called over HTTP once the child is there",
      "mcp-19: is refused with the name of its server where that does not come",
    ),
  ),
  "mcp-20-deep-schema": input(
    admission("mcp-20: a schema of %i levels leaves out its tool alone"),
    entries(
      "mcp-20: keeps its other tools and prompts, resources and templates, whose metadata are cut off where they are deep",
      "mcp-20: fails alone, and the next one is answered",
    ),
  ),
  "mcp-21-trailing-slash": input(
    front(
      "mcp-21: is connected to by the official client of older revisions",
      "mcp-21: is connected to by the official client of the newest revision",
      "mcp-21: tells a client with a session of changes, at either spelling",
    ),
  ),
  "mcp-22-resource-uri-collision": input(
    names(
      "mcp-22: both are listed, and each is read from its own server",
      "mcp-22: what the second has by its template is read at its own URI",
      "mcp-22: a server that has gone leaves its URI to nobody else",
    ),
  ),
  "mcp-23-schemas-that-clients-refuse": input(
    documents(
      "mcp-23: of a query have safe names, and the API gets its own",
      "mcp-23: of headers and places in a path have safe names, and work over HTTP",
    ),
    entries("mcp-23: is listed by the official client, but for the tool that is no tool"),
    admission("mcp-23: safeKeys shows other keys and sends the server its own"),
  ),
  "mcp-24-server-without-ping": input(
    upstreams(
      "mcp-24: keeps its state while it answers calls",
      "mcp-24: keeps its session over HTTP, where a ping is an empty 200",
      "mcp-24: is ended all the same when it answers nothing at all",
    ),
  ),
  "mcp-25-stateful-server-with-workers": input(
    inFile("core/workers/start.long")(
      "a server with placement one is one process of all workers: after a reload that changes it, and when its worker dies",
    ),
    inFile("e2e/placement.long")(
      "is one process for all, and moves when its gateway is killed",
      "tells and asks clients of the others, hears when they cancel, and moves before its gateway ends",
    ),
  ),
};
