package dev.polis.node;

import dev.polis.base.boot.OpenWait;
import dev.polis.node.exit.RootCause;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Prints the progress of a boot: on a terminal the oldest wait in a live line, elsewhere a line
 * when a wait takes long and one when it ends.
 */
final class BootScreen implements BootProgress.Listener, AutoCloseable {
  /** A wait a person notices; shorter ones leave no lasting line. */
  private static final Duration NOTICED = Duration.ofSeconds(1);

  /** Without a live line, a log gets a line only for what is worth asking about. */
  private static final Duration LONG = Duration.ofSeconds(5);

  /** Ten times a second is smooth in tenths of seconds. */
  private static final Duration TICK = Duration.ofMillis(100);

  /**
   * At home no operator watches a wait from its first moment, and ten polls a second are not free.
   */
  private static final Duration REST = Duration.ofSeconds(1);

  private final Terminal terminal;
  private final Set<String> announced = new HashSet<>();
  private Thread ticker;

  BootScreen(Terminal terminal) {
    this.terminal = terminal;
  }

  /** Starts a thread that prints the progress until this screen is closed. */
  void follow(BootProgress progress) {
    ticker =
        Thread.ofVirtual()
            .name("boot screen")
            .start(
                () -> {
                  try {
                    while (true) {
                      tick(progress.openWaits());
                      Thread.sleep(
                          progress.isHome() && progress.openWaits().isEmpty() ? REST : TICK);
                    }
                  } catch (InterruptedException e) {
                    terminal.live("");
                  }
                });
  }

  /** Prints the waits that are open now. */
  void tick(List<OpenWait> open) {
    if (terminal.isLive()) {
      terminal.live(open.isEmpty() ? "" : "… " + describe(open.getFirst()) + more(open.size() - 1));
      return;
    }
    for (OpenWait wait : open) {
      if (wait.lasted().compareTo(LONG) >= 0 && announce(wait.name())) {
        terminal.line("waiting for " + describe(wait));
      }
    }
  }

  @Override
  public void ended(BootProgress.Ended wait) {
    boolean wasAnnounced = forget(wait.name());
    boolean worthALine = wasAnnounced || !wait.worthIt() || wait.lasted().compareTo(NOTICED) >= 0;
    if (worthALine) {
      String result = wait.result().isEmpty() ? "" : ": " + wait.result();
      terminal.line(
          (wait.worthIt() ? "✓ " : "✗ gave up ")
              + wait.name()
              + " ("
              + seconds(wait.lasted())
              + ")"
              + result);
    }
  }

  @Override
  public void homeAgain(String summary) {
    summary.lines().forEach(terminal::line);
  }

  @Override
  public void poweringOff(String reason) {
    terminal.line("powering off: " + reason);
  }

  @Override
  public void restarting(String reason) {
    terminal.line("restarting the process, children and mounts stay: " + reason);
  }

  @Override
  public void consequence(String organ, Throwable cause) {
    terminal.line("after that, " + organ + " failed too: " + RootCause.of(cause));
  }

  @Override
  public void close() {
    if (ticker != null) {
      ticker.interrupt();
      terminal.live("");
    }
  }

  /** Lists everything that is awaited, for the message of a boot that is given up. */
  static String describe(List<OpenWait> open) {
    return open.isEmpty()
        ? "nothing was being waited for"
        : open.stream().map(BootScreen::describe).collect(Collectors.joining("; "));
  }

  private static String describe(OpenWait wait) {
    return wait.name()
        + " ("
        + seconds(wait.lasted())
        + ")"
        + (wait.detail().isEmpty() ? "" : ": " + wait.detail());
  }

  private static String more(int others) {
    return others == 0 ? "" : "  and " + others + " more";
  }

  private static String seconds(Duration lasted) {
    return String.format(Locale.ROOT, "%.1f s", lasted.toMillis() / 1000.0);
  }

  private synchronized boolean announce(String name) {
    return announced.add(name);
  }

  private synchronized boolean forget(String name) {
    return announced.remove(name);
  }
}
