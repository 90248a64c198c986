/** Something said in a conversation with a model. */
export type ChatPart =
  | {
      readonly type: "text";
      readonly text: string;
      /** What the provider wants to see again with this part; opaque. */
      readonly provider?: Readonly<Record<string, unknown>> | undefined;
    }
  /** What the model thought before what follows: goes back to its provider within the run, and to nobody else. */
  | {
      readonly type: "reasoning";
      readonly text: string;
      /** What the provider wants to see again with this part, e.g. a signature; opaque. */
      readonly provider?: Readonly<Record<string, unknown>> | undefined;
    }
  /** `data` is base64. */
  | { readonly type: "image"; readonly mimeType: string; readonly data: string }
  | {
      readonly type: "tool-call";
      /** The model's own id of the call. */
      readonly id: string;
      readonly name: string;
      readonly args: Readonly<Record<string, unknown>>;
      /** What is wrong with the arguments as the model wrote them, as a sentence; `args` is empty then. */
      readonly invalid?: string | undefined;
      /** What the provider wants to see again with this part, e.g. a signature of the thought behind it; opaque. */
      readonly provider?: Readonly<Record<string, unknown>> | undefined;
    }
  | {
      readonly type: "tool-result";
      /** Id of the tool-call it answers. */
      readonly id: string;
      readonly name: string;
      readonly parts: readonly Extract<ChatPart, { readonly type: "text" | "image" }>[];
      readonly isError: boolean;
    };

/** One message of a conversation. Tool results are messages of role `tool`. */
export interface ChatMessage {
  readonly role: "user" | "assistant" | "tool";
  readonly parts: readonly ChatPart[];
}

/** A tool as a model is told of it. */
export interface ModelTool {
  /** What the model calls it: letters, digits, `_` and `-`, at most 64. */
  readonly name: string;
  readonly description: string;
  /** JSON Schema. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

/** One request to a model. */
export interface ModelRequest {
  /** Instructions, ahead of the conversation. */
  readonly system: string;
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ModelTool[];
  readonly maxOutputTokens?: number | undefined;
  readonly temperature?: number | undefined;
  /** Receives text while it is generated; set only when somebody wants it. */
  readonly onText?: ((delta: string) => void) | undefined;
  /** Asked before a request that failed is made again; `false` gives up. Default: as often as configured. */
  readonly mayRetry?: (() => boolean) | undefined;
}

/** What a model answered. */
export interface ModelReply {
  /** Texts and tool-calls, in order. */
  readonly parts: readonly ChatPart[];
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number };
  readonly finish: "stop" | "tool-calls" | "length" | "refused";
}

/** What a provider says of a model without spending tokens. */
export interface ModelPreflight {
  /** Name of the provider in the config. */
  readonly provider: string;
  /** Name of the model at its provider. */
  readonly model: string;
  /** `unknown`: the provider is set up to be asked nothing. */
  readonly status: "ok" | "error" | "unknown";
  /** What is wrong, or worth knowing, as a sentence. */
  readonly message?: string;
}

/** A model that takes one step at a time; the loop around it is the agents plugin's own. */
export interface Model {
  /** Provider and name as configured, e.g. `openai/gpt-5`. */
  readonly id: string;
  /**
   * One request, retried inside as configured.
   * @throws {GatewayError} `upstream_error` when the provider fails or refuses (never with a key in the message), `cancelled`
   */
  generate(request: ModelRequest, signal: AbortSignal): Promise<ModelReply>;
  /** Whether the provider would take a request, without spending tokens. Never throws. */
  preflight(signal: AbortSignal): Promise<ModelPreflight>;
}
