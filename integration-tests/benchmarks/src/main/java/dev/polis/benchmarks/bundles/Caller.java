package dev.polis.benchmarks.bundles;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.osgi.framework.BundleActivator;
import org.osgi.framework.BundleContext;
import org.osgi.framework.BundleEvent;
import org.osgi.framework.BundleListener;
import org.osgi.framework.InvalidSyntaxException;
import org.osgi.framework.ServiceEvent;
import org.osgi.framework.ServiceListener;
import org.osgi.framework.ServiceReference;

/**
 * Calls the service of {@link Greeter} from four threads, and reports their observations on a port.
 * A call looks the service up, uses it and releases it, as the specification requires of bundles
 * beside others that may be replaced.
 */
public final class Caller implements BundleActivator, BundleListener, ServiceListener {
  /** The symbolic name of the replaced bundle, which is not counted. */
  public static final String GREETER = "org.example.greeter";

  /** The system property with the port. */
  public static final String PORT = "polis.bench.port";

  private static final int THREADS = 4;

  /** 100 µs, in nanoseconds: the time that a caller spends on an answer. */
  private static final long PAUSE = 100_000;

  private final AtomicLong answered = new AtomicLong();
  private final AtomicLong failed = new AtomicLong();
  private final AtomicInteger lost = new AtomicInteger();
  private final AtomicInteger stopped = new AtomicInteger();
  private final AtomicInteger wiredAnew = new AtomicInteger();
  private final List<Thread> threads = new ArrayList<>();
  private long newest = System.nanoTime();
  private long gap;
  private volatile String version = "";
  private volatile boolean over;
  private BundleContext context;
  private ServerSocket port;

  @Override
  public void start(BundleContext own) throws IOException, InvalidSyntaxException {
    context = own;
    context.addBundleListener(this);
    context.addServiceListener(this, Greeter.FILTER);
    port = new ServerSocket(Integer.getInteger(PORT), 1, InetAddress.getLoopbackAddress());
    for (int n = 0; n < THREADS; n++) {
      begin("caller " + n, this::call);
    }
    begin("caller's port", this::serve);
  }

  private void begin(String name, Runnable run) {
    Thread thread = new Thread(run, name);
    threads.add(thread);
    thread.start();
  }

  private void call() {
    while (!over) {
      try {
        callOnce();
        answered();
      } catch (InvalidSyntaxException | RuntimeException e) {
        failed.incrementAndGet();
      }
      LockSupport.parkNanos(PAUSE);
    }
  }

  private void callOnce() throws InvalidSyntaxException {
    for (ServiceReference<?> each : found()) {
      Supplier<?> service = (Supplier<?>) context.getService(each);
      // The service may have stopped since the lookup; then the next one is called.
      if (service != null) {
        try {
          version = String.valueOf(service.get());
          return;
        } finally {
          context.ungetService(each);
        }
      }
    }
    throw new IllegalStateException("no bundle offers it");
  }

  private ServiceReference<?>[] found() throws InvalidSyntaxException {
    ServiceReference<?>[] found =
        context.getServiceReferences(Supplier.class.getName(), Greeter.FILTER);
    return found == null ? new ServiceReference<?>[0] : found;
  }

  private synchronized void answered() {
    long now = System.nanoTime();
    gap = Math.max(gap, now - newest);
    newest = now;
    answered.incrementAndGet();
  }

  /** Returns the observations since the previous question, in one line. */
  private synchronized String next() {
    String line =
        gap
            + " "
            + answered.getAndSet(0)
            + " "
            + failed.getAndSet(0)
            + " "
            + lost.getAndSet(0)
            + " "
            + stopped.getAndSet(0)
            + " "
            + wiredAnew.getAndSet(0)
            + " "
            + version;
    gap = 0;
    return line;
  }

  private void serve() {
    while (!over) {
      try (Socket socket = port.accept();
          BufferedReader questions =
              new BufferedReader(
                  new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
          PrintWriter answers =
              new PrintWriter(socket.getOutputStream(), true, StandardCharsets.US_ASCII)) {
        while (questions.readLine() != null) {
          answers.println(next());
        }
      } catch (IOException ended) {
        // The benchmark has disconnected, or this bundle stops.
      }
    }
  }

  @Override
  public void bundleChanged(BundleEvent event) {
    if (GREETER.equals(event.getBundle().getSymbolicName())) {
      return;
    }
    if (event.getType() == BundleEvent.STOPPED) {
      stopped.incrementAndGet();
    }
    if (event.getType() == BundleEvent.UNRESOLVED) {
      wiredAnew.incrementAndGet();
    }
  }

  @Override
  public void serviceChanged(ServiceEvent event) {
    if (event.getType() != ServiceEvent.UNREGISTERING) {
      return;
    }
    try {
      boolean another =
          Arrays.stream(found()).anyMatch(each -> !each.equals(event.getServiceReference()));
      if (!another) {
        lost.incrementAndGet();
      }
    } catch (InvalidSyntaxException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  public void stop(BundleContext own) throws IOException, InterruptedException {
    over = true;
    port.close();
    for (Thread thread : threads) {
      thread.join();
    }
  }
}
