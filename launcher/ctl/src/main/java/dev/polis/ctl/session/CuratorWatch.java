package dev.polis.ctl.session;

import dev.polis.wire.health.GetHealthResponse;
import dev.polis.wire.health.Level;
import dev.polis.wire.health.Status;
import io.grpc.Context;
import java.time.Duration;
import java.util.Optional;

/**
 * Looks at the node while its curator is asked, and ends the call as soon as it is idle to wait for
 * the answer.
 */
final class CuratorWatch implements AutoCloseable {
  private static final String CURATOR = "curator";

  /** A curator that is well answers sooner, and is not looked at. */
  private static final Duration BEGIN = Duration.ofMillis(200);

  /** The watch notices a change of the node's mind within this time. */
  private static final Duration AGAIN = Duration.ofMillis(300);

  private final Session session;
  private final Duration patience;
  private final Context.CancellableContext context = Context.current().withCancellation();
  private final Thread thread;

  /** The reason why the curator is away; null as long as it is not known. */
  private volatile CtlException awayOrNull;

  private CuratorWatch(Session session, Duration patience) {
    this.session = session;
    this.patience = patience;
    this.thread = Thread.ofVirtual().name("curator watch").unstarted(this::watch);
  }

  /**
   * Begins to look.
   *
   * @param session with the node
   * @param patience how long the curator of a node that answers itself is waited for
   */
  static CuratorWatch start(Session session, Duration patience) {
    CuratorWatch watch = new CuratorWatch(session, patience);
    watch.thread.start();
    return watch;
  }

  /** Makes a call that ends when this watch says so. */
  <T> T call(Session.Call<T> call) throws InterruptedException {
    Optional<CtlException> closed = session.curatorClosed();
    if (closed.isPresent()) {
      throw closed.get();
    }
    Context before = context.attach();
    try {
      return session.call(call);
    } catch (CtlException failure) {
      throw Optional.ofNullable(awayOrNull).or(() -> cause(failure)).orElse(failure);
    } finally {
      context.detach(before);
    }
  }

  /** Asks the node why its curator cannot answer, where the curator's own answer was quicker. */
  private Optional<CtlException> cause(CtlException failure) {
    if (failure.exitCode() != ExitCode.UNREACHABLE) {
      return Optional.empty();
    }
    try (Session beside = session.beside(1)) {
      return ask(beside).flatMap(this::judge);
    } catch (InterruptedException hurried) {
      Thread.currentThread().interrupt();
      return Optional.empty();
    }
  }

  private void watch() {
    try (Session beside = session.beside(1)) {
      Thread.sleep(BEGIN);
      long answered = 0;
      while (awayOrNull == null) {
        Optional<GetHealthResponse> health = ask(beside);
        answered = answered == 0 && health.isPresent() ? System.nanoTime() : answered;
        long asked = answered == 0 ? 0 : System.nanoTime() - answered;
        awayOrNull =
            health
                .flatMap(this::judge)
                .or(session::curatorClosed)
                .or(() -> silent(Duration.ofNanos(asked)))
                .orElse(null);
        if (awayOrNull == null) {
          Thread.sleep(AGAIN);
        }
      }
      context.cancel(null);
    } catch (InterruptedException over) {
      Thread.currentThread().interrupt();
    } catch (CtlException unreadable) {
      // A file of the node, perhaps for the interrupt that ends this thread; the call reads it too.
    }
  }

  /** Returns whether the curator was silent too long after its node has answered. */
  private Optional<CtlException> silent(Duration since) {
    return since.compareTo(patience) <= 0
        ? Optional.empty()
        : Optional.of(
            unreachable(
                "%s answers, and its curator has not within %.1f s"
                    .formatted(session.host(), patience.toMillis() / 1000.0)));
  }

  private static Optional<GetHealthResponse> ask(Session beside) throws InterruptedException {
    try {
      return Optional.of(beside.ownHealth());
    } catch (CtlException silent) {
      return Optional.empty(); // the call itself says so, too
    }
  }

  /** Returns why the curator is away, if the reason does not go by itself. */
  private Optional<CtlException> judge(GetHealthResponse health) {
    if (session.isRestarting()) {
      return Optional.empty();
    }
    return HealthRoots.of(health).rootsOf(CURATOR).stream()
        .filter(root -> root.getLevel() == Level.LEVEL_DOWN || HealthRoots.works(root))
        .findFirst()
        .map(
            root ->
                unreachable(
                    "the curator of %s does not work: %s".formatted(session.host(), text(root))));
  }

  private static String text(Status root) {
    String remedy = root.getRemedy().isEmpty() ? "" : "; to do: " + root.getRemedy();
    return "%s: %s%s".formatted(root.getName(), root.getReason(), remedy);
  }

  private static CtlException unreachable(String sentence) {
    return new CtlException(ExitCode.UNREACHABLE, sentence);
  }

  /** Ends after its last call, which needs the threads of all channels: these end next. */
  @Override
  public void close() {
    thread.interrupt();
    context.cancel(null);
    try {
      thread.join();
    } catch (InterruptedException hurried) {
      Thread.currentThread().interrupt();
    }
  }
}
