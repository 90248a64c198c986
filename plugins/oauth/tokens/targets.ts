import { normalUrl, type OauthResourceService } from "propylon/plugins/oauth-resource";
import type { Parameters } from "./form.ts";
import { OauthError } from "../oauth-error.ts";

/** What people log in to, as tokens name it. */
export class Targets {
  readonly #service: Pick<OauthResourceService, "root" | "resources" | "endpoints">;

  constructor(service: Pick<OauthResourceService, "root" | "resources" | "endpoints">) {
    this.#service = service;
  }

  /**
   * The resource that a request names (RFC 8707 section 2). Earlier programs that name none mean the only endpoint.
   *
   * @throws {OauthError} `invalid_target` for anything but a resource of this gateway
   */
  resolve(parameters: Parameters): string {
    const asked = parameters.get("resource");
    const found = asked === undefined ? this.#only : this.#find(asked);
    if (found !== undefined) return found;
    throw new OauthError(
      "invalid_target",
      "The parameter resource must be the URL of an endpoint of this gateway.",
      { facts: { expected: this.#service.resources(), got: asked } },
    );
  }

  /**
   * `aud` of the tokens for a resource. Programs that ask for the gateway as a whole go to its endpoint: where there is one only they
   * mean it, too. A token that opens nothing where they go would have them log in again and again.
   */
  audiencesOf(resource: string): readonly string[] {
    const { endpoints } = this.#parts;
    const isWhole = resource === this.#service.root() && endpoints.length === 1;
    return isWhole ? [...new Set([resource, ...endpoints])] : [resource];
  }

  /** Whether a login for a resource may go on with a request for another one: both mean one endpoint. */
  isSame(resource: string, other: string): boolean {
    const audiences = this.audiencesOf(other);
    return this.audiencesOf(resource).some((each) => audiences.includes(each));
  }

  get #parts(): { readonly resources: readonly string[]; readonly endpoints: readonly string[] } {
    return { resources: this.#service.resources(), endpoints: this.#service.endpoints() };
  }

  get #only(): string | undefined {
    const { resources, endpoints } = this.#parts;
    const [only, ...others] = endpoints.length > 0 ? endpoints : resources;
    return others.length === 0 ? only : undefined;
  }

  /** Some programs write a slash at the end, or leave out the one of an origin. */
  #find(asked: string): string | undefined {
    const own = normalUrl(asked);
    const find = (text: string): string | undefined =>
      this.#parts.resources.find((each) => normalUrl(each) === text);
    const found = find(own) ?? find(own.replace(/\/$/, ""));
    if (found !== undefined) return found;
    return own === normalUrl(this.#service.root()) ? this.#only : undefined;
  }
}
