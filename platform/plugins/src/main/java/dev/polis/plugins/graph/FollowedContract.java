package dev.polis.plugins.graph;

import java.time.Instant;
import java.util.Objects;
import java.util.OptionalLong;

/**
 * Describes a contract whose users have a proxy, and its provider.
 *
 * @param contract the name of the contract's interface
 * @param provider the number of the present or last providing bundle; empty if there is none
 * @param held true if calls wait because the provider is being replaced
 * @param standing the state in a few words
 * @param since the time since which it has this state
 * @param waitingCalls the number of calls that wait for a provider
 */
public record FollowedContract(
    String contract,
    OptionalLong provider,
    boolean held,
    String standing,
    Instant since,
    int waitingCalls) {

  public FollowedContract {
    Objects.requireNonNull(contract, "contract");
    Objects.requireNonNull(provider, "provider");
    Objects.requireNonNull(standing, "standing");
    Objects.requireNonNull(since, "since");
  }
}
