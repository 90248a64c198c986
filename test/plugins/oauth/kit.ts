import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
import type {
  OAuthClientInformationMixed,
  OAuthTokens,
} from "@modelcontextprotocol/sdk/shared/auth.js";
import type { GatewayConfigInput } from "../../../core/index.ts";
import { type PluginEntry, setupGateway } from "../../../core/testing/index.ts";
import oauth from "../../../plugins/oauth/index.ts";
import oauthResource from "../../../plugins/oauth-resource/index.ts";
import { Browser, type ShownPage } from "../../fixtures/browser.ts";
import { RealProvider, SECRET } from "../../fixtures/oidc-provider.ts";
import { who } from "../oauth-resource/kit.ts";

/** Where the programs of the tests want their codes. */
export const REDIRECT = "http://localhost:33418/callback";

export interface LoginRig {
  readonly options?: Record<string, unknown>;
  readonly resource?: Record<string, unknown>;
  readonly config?: GatewayConfigInput;
  readonly provider?: RealProvider;
  readonly plugins?: readonly PluginEntry[];
}

/** A gateway that people log in to at a real OpenID provider. */
export async function setupLogin({
  options = {},
  resource = {},
  config = {},
  plugins = [],
  ...rest
}: LoginRig = {}) {
  const provider = rest.provider ?? (await RealProvider.start());
  const { gateway, url } = await setupGateway({
    plugins: [
      ...plugins,
      who,
      [oauthResource, resource],
      [
        oauth,
        {
          provider: { issuer: provider.url, clientId: "gateway", clientSecret: SECRET },
          roles: { caller: "everyone" },
          ...options,
        },
      ],
    ],
    // Tests try more wrong tokens in a second than a gateway takes in a minute.
    config: { ...config, auth: { maxFailures: 0, ...config.auth } },
    client: false,
  });
  if (!rest.provider) await provider.serve(`${url}/oauth/callback`);
  return { gateway, provider, url, endpoint: `${url}/mcp` };
}

/** What somebody does with the pages that come: types a name at the provider, and decides here. */
export interface Visit {
  readonly name?: string;
  readonly choice?: "allow" | "deny";
  /** Told of the page of consent. */
  readonly onConsent?: (page: ShownPage) => void;
}

/** Goes from the URL that a program opens to the one where its answer arrives. */
export async function visit(
  browser: Browser,
  start: string | URL,
  { name = "ada", choice = "allow", onConsent }: Visit = {},
): Promise<URL | ShownPage> {
  let shown = await browser.open(start);
  for (let step = 0; step < 6; step++) {
    if (shown instanceof URL || !shown.text.includes("<form")) return shown;
    if (new URL(shown.url).pathname.startsWith("/oauth/")) {
      onConsent?.(shown);
      shown = await browser.submit(shown, { choice });
    } else shown = await browser.submit(shown, { login: name, password: "any" });
  }
  throw new Error("the login does not end");
}

/** A browser that stops where programs of the tests listen. */
export function newBrowser(): Browser {
  return new Browser(
    ({ port, hostname, protocol }) =>
      port === "33418" || hostname === "app.example" || !protocol.startsWith("http"),
  );
}

/** A person with a program that uses the official SDK. */
export class Person implements OAuthClientProvider {
  readonly redirectUrl: string = REDIRECT;
  readonly clientMetadata = { client_name: "Test program", redirect_uris: [REDIRECT] };
  readonly clientMetadataUrl?: string;
  readonly asked: URL[] = [];
  readonly browser = newBrowser();
  answer: URL | undefined;
  saved: OAuthTokens | undefined;
  client: OAuthClientInformationMixed | undefined;
  #verifier = "";
  readonly #visit: Visit;

  constructor(how: Visit & { readonly document?: string } = {}) {
    this.#visit = how;
    if (how.document !== undefined) this.clientMetadataUrl = how.document;
  }

  /** The code that came back. */
  get code(): string {
    return this.answer!.searchParams.get("code")!;
  }

  clientInformation() {
    return this.client;
  }
  saveClientInformation(client: OAuthClientInformationMixed): void {
    this.client = client;
  }
  tokens() {
    return this.saved;
  }
  saveTokens(tokens: OAuthTokens): void {
    this.saved = tokens;
  }
  async redirectToAuthorization(url: URL): Promise<void> {
    this.asked.push(url);
    const end = await visit(this.browser, url, this.#visit);
    if (!(end instanceof URL)) throw new Error(`${end.status} ${end.url}: ${end.text}`);
    this.answer = end;
  }
  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }
  codeVerifier(): string {
    return this.#verifier;
  }
}
