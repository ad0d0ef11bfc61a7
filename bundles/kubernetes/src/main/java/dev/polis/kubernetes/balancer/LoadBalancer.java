package dev.polis.kubernetes.balancer;

import dev.polis.base.values.Value;
import dev.polis.base.values.Values;
import dev.polis.logtree.Log;
import dev.polis.rpc.StrangerRoom;
import dev.polis.supervision.Context;
import dev.polis.supervision.Task;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Passes TCP connections of this worker to the API servers of all controllers, in turn. It skips an
 * API server that does not answer, and ends its connections if there is another one.
 */
public final class LoadBalancer implements Task {

  /** The time for a connection; a controller in the same network answers within milliseconds. */
  private static final int CONNECT_MILLIS = 2_000;

  /**
   * The pause between probes; two of them detect a dead controller, long before a node counts as
   * lost after 50 s.
   */
  private static final Duration PROBE_PAUSE = Duration.ofSeconds(3);

  private static final int BACKLOG = 128;

  /** The pause after a shortage of file descriptors. */
  private static final Duration REST = Duration.ofMillis(250);

  /**
   * The most connections at a time; the programs of a worker have about ten. They take at most half
   * of the node's room for strangers, whatever a Pod opens. An API server ends a connection without
   * a request after half a minute.
   */
  static final int CONNECTIONS = 128;

  private final InetSocketAddress at;
  private final Value<Set<InetSocketAddress>> controllers;
  private final BackendProbe probe;
  private final Duration probePause;

  public LoadBalancer(
      InetSocketAddress at, Value<Set<InetSocketAddress>> controllers, BackendProbe probe) {
    this(at, controllers, probe, PROBE_PAUSE);
  }

  LoadBalancer(
      InetSocketAddress at,
      Value<Set<InetSocketAddress>> controllers,
      BackendProbe probe,
      Duration probePause) {
    this.at = at;
    this.controllers = controllers;
    this.probe = probe;
    this.probePause = probePause;
  }

  @Override
  public void run(Context context) throws Exception {
    try (ServerSocket listener = new ServerSocket()) {
      listener.setReuseAddress(true);
      bind(listener);
      context.healthy();
      serve(listener, context.log());
    } catch (IOException failed) {
      // An interrupted accept closes its socket.
      if (Thread.interrupted() || context.cancelled()) {
        throw new InterruptedException("the load balancer ends on request");
      }
      throw failed;
    }
  }

  private void bind(ServerSocket listener) throws IOException {
    try {
      listener.bind(at, BACKLOG);
    } catch (IOException e) {
      throw new IOException(
          "the load balancer cannot listen at %s: %s; end the program that uses the port, or set dev.polis.kubernetes.balancer.port"
              .formatted(at, e.getMessage()),
          e);
    }
  }

  /** Accepts connections until the listener is closed. */
  void serve(ServerSocket listener, Log log) throws IOException {
    BackendPool pool = new BackendPool();
    ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    StrangerRoom.Share room = StrangerRoom.ofProcess().share(CONNECTIONS);
    try {
      controllers.peek().ifPresent(pool::set);
      threads.submit(() -> follow(pool, log));
      threads.submit(() -> probe(pool, threads));
      while (true) {
        Socket client = accept(listener, log);
        if (room.tryTake()) {
          threads.submit(() -> carryOne(client, pool, threads, room));
        } else {
          BalancedConnection.closeQuietly(client);
        }
      }
    } finally {
      pool.set(Set.of());
      threads.shutdownNow();
      threads.close();
    }
  }

  /** Waits for a connection; with too many open files, it accepts the connection later. */
  private static Socket accept(ServerSocket listener, Log log) throws IOException {
    boolean told = false;
    while (true) {
      try {
        return listener.accept();
      } catch (IOException shortage) {
        if (listener.isClosed()) {
          throw shortage;
        }
        if (!told) {
          log.warning("new connections wait: %s", shortage.getMessage());
          told = true;
        }
      }
      rest();
    }
  }

  private static void rest() throws IOException {
    try {
      Thread.sleep(REST);
    } catch (InterruptedException ending) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException(
          "the load balancer ended while the process had no free descriptor");
    }
  }

  private Void follow(BackendPool pool, Log log) throws Exception {
    Values.follow(
        controllers,
        now -> {
          log.info("API servers: %s", now);
          // The last controller's API server runs until its role has ended, and a worker whose role
          // ends at the same time still needs it.
          if (!now.isEmpty()) {
            pool.set(now);
          }
        });
    return null;
  }

  private Void probe(BackendPool pool, ExecutorService threads) throws InterruptedException {
    while (true) {
      Thread.sleep(probePause);
      var servers = pool.all();
      // With one server there is no choice, and its connections end by themselves.
      if (servers.size() > 1) {
        for (InetSocketAddress server : servers) {
          threads.submit(() -> pool.probed(server, probe.answers(server)));
        }
      }
    }
  }

  private static void carryOne(
      Socket client, BackendPool pool, ExecutorService threads, StrangerRoom.Share room) {
    try {
      carry(client, pool, threads);
    } finally {
      room.giveBack();
    }
  }

  private static void carry(Socket client, BackendPool pool, ExecutorService threads) {
    try (client) {
      Optional<BalancedConnection> connected = connect(client, pool);
      if (connected.isPresent()) {
        carry(connected.get(), pool, threads);
      }
    } catch (IOException gone) {
      // The client left before it was connected.
    }
  }

  private static void carry(
      BalancedConnection connection, BackendPool pool, ExecutorService threads) {
    try (connection) {
      if (pool.add(connection)) {
        Future<?> backward = threads.submit(connection::backward);
        connection.forward();
        await(backward);
      }
    } finally {
      pool.remove(connection);
    }
  }

  private static void await(Future<?> other) {
    try {
      other.get();
    } catch (InterruptedException ending) {
      Thread.currentThread().interrupt();
    } catch (java.util.concurrent.ExecutionException e) {
      throw new IllegalStateException("copying bytes throws no exception", e);
    }
  }

  private static Optional<BalancedConnection> connect(Socket client, BackendPool pool)
      throws IOException {
    client.setTcpNoDelay(true);
    for (InetSocketAddress server : pool.inTurn()) {
      Socket upstream = new Socket();
      try {
        upstream.connect(server, CONNECT_MILLIS);
        upstream.setTcpNoDelay(true);
        return Optional.of(new BalancedConnection(client, upstream, server));
      } catch (IOException unreachable) {
        BalancedConnection.closeQuietly(upstream);
        pool.refused(server);
      }
    }
    return Optional.empty();
  }
}
