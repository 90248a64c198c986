import type { PluginContext, Principal } from "propylon";
import type { GatingService } from "propylon/plugins/gating";
import type { RateLimitsService } from "propylon/plugins/ratelimit";
import type { AccountsService } from "./service.ts";

/** What is asked about. */
export interface AccessQuestion {
  readonly server: string;
  readonly tool: string;
  readonly library?: string | undefined;
  /** Who asks, who may be another than whom it is about. */
  readonly asker: Principal;
  /** Whether rules may be shown: they name other people. */
  readonly showsRules: boolean;
}

/** The part of the gateway that a {@link Ladder} stands on. */
export type LadderGateway = Pick<PluginContext, "info"> & {
  readonly services: {
    readonly accounts: AccountsService | undefined;
    readonly gating: GatingService | undefined;
    readonly limits: RateLimitsService | undefined;
  };
};
