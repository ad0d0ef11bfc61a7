package dev.polis.rpc;

import com.sun.net.httpserver.HttpHandler;
import dev.polis.base.values.Value;
import dev.polis.logtree.Log;
import dev.polis.supervision.Context;
import dev.polis.supervision.RestartRequest;
import dev.polis.supervision.Task;
import java.io.IOException;
import java.net.InetAddress;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;

/**
 * Keeps an HTTPS port open at the node's address, as a supervised task: waits until the node has
 * credentials and an address, and asks to be started again when the address changes.
 *
 * @param <N> the status that tells the address
 */
public final class HttpsTask<N> implements Task {

  /**
   * What is served, and how.
   *
   * @param pid the configuration whose key {@code port} chose the port; failures name it
   * @param port the port; 0 for any free one
   * @param announcement the log line of an open port, with {@code %s} for address and port
   * @param context makes the TLS context, once for each start
   * @param parameters the protocols, and whether clients need a certificate
   * @param handler makes what answers requests, given the log of this task
   */
  public record Service(
      String pid,
      int port,
      String announcement,
      Supplier<SSLContext> context,
      SSLParameters parameters,
      Function<Log, HttpHandler> handler) {

    private TlsTask.Service overTls() {
      return new TlsTask.Service(
          pid,
          port,
          announcement,
          context,
          parameters,
          log -> new HttpRequests(handler.apply(log)));
    }
  }

  /** Waits for something. */
  @FunctionalInterface
  public interface Readiness {
    void await() throws InterruptedException;
  }

  private final TlsTask<N> task;

  /**
   * Creates a task that serves nothing yet.
   *
   * @param credentials waits until the node has a certificate to present
   * @param network follows the node's address
   * @param address reads it from the status; empty while there is none
   */
  public HttpsTask(
      Service service,
      Readiness credentials,
      Value<N> network,
      Function<N, Optional<InetAddress>> address) {
    this(new TlsTask<>(service.overTls(), credentials, network, address));
  }

  private HttpsTask(TlsTask<N> task) {
    this.task = task;
  }

  /**
   * Returns the same task, which keeps its port open for a moment when it ends because its code is
   * replaced. For one that ends before the next one begins, such as the run of a role.
   */
  public HttpsTask<N> keepingItsPort() {
    return new HttpsTask<>(task.keepingItsPort());
  }

  /** Serves until cancelled. */
  @Override
  public void run(Context context) throws InterruptedException, IOException, RestartRequest {
    task.run(context);
  }
}
