package dev.polis.api.containers;

import java.nio.file.Path;

/** Lists the states of the container runtime. */
public sealed interface ContainersStatus {

  /** Returns the state as one line for people. */
  String text();

  /** Means that no role has requested the runtime, or that the runtime has stopped. */
  record Stopped() implements ContainersStatus {
    @Override
    public String text() {
      return "the container runtime is stopped";
    }
  }

  /**
   * Means that the runtime is starting.
   *
   * @param waitingFor the awaited event, as text
   */
  record Starting(String waitingFor) implements ContainersStatus {
    @Override
    public String text() {
      return "the container runtime waits for " + waitingFor;
    }
  }

  /**
   * Means that the runtime serves.
   *
   * @param sandbox its sandbox
   * @param socket the runtime's socket inside the sandbox: CRI version 1
   * @param version the runtime's version, such as {@code containerd 2.4.2}
   */
  record Running(Sandbox sandbox, Path socket, String version) implements ContainersStatus {
    @Override
    public String text() {
      return version + " runs";
    }
  }

  /**
   * Means that the last attempt to start failed; the next one follows automatically after a growing
   * pause.
   *
   * @param reason the fault, the offending value and the remedy
   */
  record Failed(String reason) implements ContainersStatus {
    @Override
    public String text() {
      return "the container runtime failed: " + reason;
    }
  }
}
