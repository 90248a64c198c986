import type { Json } from "propylon";
import { writeJson } from "propylon/kit";
import { type EndpointHost, type RpcId, scalarText } from "propylon/internal";
import type { View } from "../view/view.ts";

/** What `initialize` is answered, serialised once for each view, revision and name of the gateway: a view never changes. */
export class Greetings {
  readonly #host: Pick<EndpointHost, "serverInfo">;
  /** By view; the texts by revision and name, of which there are few. */
  readonly #texts = new WeakMap<View, Map<string, string>>();

  constructor(host: Pick<EndpointHost, "serverInfo">) {
    this.#host = host;
  }

  /** The response message for a request id. */
  encode(view: View, version: string, id: RpcId): readonly string[] {
    return [`{"jsonrpc":"2.0","id":${writeJson(id)},"result":${this.#textOf(view, version)}}`];
  }

  #textOf(view: View, version: string): string {
    const { serverInfo } = this.#host;
    const key = `${version} ${scalarText(serverInfo["version"])} ${scalarText(serverInfo["name"])}`;
    let texts = this.#texts.get(view);
    if (!texts) this.#texts.set(view, (texts = new Map()));
    let text = texts.get(key);
    if (text === undefined) texts.set(key, (text = serialise(view, version, serverInfo)));
    return text;
  }
}

function serialise(
  { capabilities, instructions }: View,
  protocolVersion: string,
  serverInfo: Json,
): string {
  return writeJson({
    protocolVersion,
    capabilities,
    serverInfo,
    ...(instructions !== undefined && { instructions }),
  });
}
