import type { Call, Json } from "propylon";
import type { Dialect } from "./wire.ts";

/** `name` and `version` of the gateway as a client. */
export interface ClientInfo {
  readonly name: string;
  readonly version: string;
}

/** Who asks, and in which dialect; `undefined` before an agreement. */
export interface Sender {
  readonly dialect: Dialect | undefined;
  readonly clientInfo: ClientInfo;
}

/** The serialised request of a client's call. Its arguments go out as they were checked: one object, one `JSON.stringify`. */
export function encodeCall(sender: Sender, id: string, call: Call): string {
  const { method, name, args, params, progress } = call;
  const meta = requestMeta(sender, call, progress ? id : undefined);
  const own = meta === undefined ? undefined : { _meta: meta };
  if (method === "resources/read") return encode(id, method, { ...params, uri: name, ...own });
  if (method === "completion/complete") return encode(id, method, { ...params, ...own });
  // The usual call. As text around the parts that vary it costs half of what one JSON.stringify of the whole does.
  if (args && params === undefined && own === undefined)
    return `{"jsonrpc":"2.0","id":"${id}","method":"${method}","params":{"name":${JSON.stringify(name)},"arguments":${JSON.stringify(args)}}}`;
  return encode(
    id,
    method,
    args ? { name, arguments: args, ...params, ...own } : { name, ...params, ...own },
  );
}

/** A request of the gateway's own. */
export function encodeOwn(
  sender: Sender,
  id: string,
  method: string,
  params: Json | undefined,
): string {
  const meta = requestMeta(sender, undefined, undefined);
  return encode(id, method, meta === undefined ? params : { ...params, _meta: meta });
}

function encode(id: string, method: string, params: Json | undefined): string {
  return JSON.stringify({ jsonrpc: "2.0", id, method, params });
}

/** The modern era repeats on every request what `initialize` said once; the capabilities are those of the caller. */
function requestMeta(
  { dialect, clientInfo }: Sender,
  call: Call | undefined,
  progressToken: string | undefined,
): Json | undefined {
  const meta = call?.meta;
  if (dialect?.era !== "modern")
    return progressToken === undefined ? meta : { ...meta, progressToken };
  const modern: Json = {
    ...meta,
    "io.modelcontextprotocol/protocolVersion": dialect.version,
    "io.modelcontextprotocol/clientInfo": clientInfo,
    "io.modelcontextprotocol/clientCapabilities": call?.peer.capabilities ?? {},
  };
  if (progressToken !== undefined) modern["progressToken"] = progressToken;
  if (call?.peer.logLevel !== undefined)
    modern["io.modelcontextprotocol/logLevel"] = call.peer.logLevel;
  return modern;
}
