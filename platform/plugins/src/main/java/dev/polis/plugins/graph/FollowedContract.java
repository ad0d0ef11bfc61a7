package dev.polis.plugins.graph;

import java.time.Instant;
import java.util.Objects;
import java.util.OptionalLong;

/**
 * Names the provider of a contract whose users have a proxy.
 *
 * @param contract the name of the contract's interface
 * @param provider the number of the bundle that provides it, or did until it was held; empty if no
 *     bundle does
 * @param held whether calls are made to wait, because the provider is being replaced
 * @param standing how it stands, in a few words
 * @param since since when it stands so
 * @param waitingCalls how many calls wait for a provider
 */
public record FollowedContract(
    String contract,
    OptionalLong provider,
    boolean held,
    String standing,
    Instant since,
    int waitingCalls) {

  /** Refuses what is missing. */
  public FollowedContract {
    Objects.requireNonNull(contract, "contract");
    Objects.requireNonNull(provider, "provider");
    Objects.requireNonNull(standing, "standing");
    Objects.requireNonNull(since, "since");
  }
}
