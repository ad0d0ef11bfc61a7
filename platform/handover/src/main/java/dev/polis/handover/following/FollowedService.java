package dev.polis.handover.following;

import dev.polis.plugins.graph.FollowedContract;
import java.time.Instant;
import java.util.OptionalLong;

/**
 * Holds the present provider of one contract.
 *
 * @param contract the name of the contract's interface
 * @param provision its provider
 * @param since when that began
 * @param waitingCalls how many calls wait for a provider
 */
public record FollowedService(
    String contract, Provision provision, Instant since, int waitingCalls) {

  /** Returns it as the graph of plugins shows it. */
  FollowedContract forGraph() {
    OptionalLong provider =
        switch (provision) {
          case Provided(ServiceProvider present) -> OptionalLong.of(present.bundleId());
          case Held(ServiceProvider predecessor) -> OptionalLong.of(predecessor.bundleId());
          case Absent() -> OptionalLong.empty();
        };
    return new FollowedContract(
        contract, provider, provision instanceof Held, provision.text(), since, waitingCalls);
  }

  /** Names the provider of a contract, if there is one. */
  public sealed interface Provision {
    /** Returns it as a few words for people. */
    String text();
  }

  /**
   * A provider is in use.
   *
   * @param provider who it is
   */
  public record Provided(ServiceProvider provider) implements Provision {
    @Override
    public String text() {
      return "provided by " + provider;
    }
  }

  /**
   * Calls wait while the provider is replaced.
   *
   * @param predecessor who provided it before
   */
  public record Held(ServiceProvider predecessor) implements Provision {
    @Override
    public String text() {
      return "calls wait while " + predecessor + " is replaced";
    }
  }

  /** No bundle provides it, and none can use it. */
  public record Absent() implements Provision {
    @Override
    public String text() {
      return "no bundle provides it";
    }
  }
}
