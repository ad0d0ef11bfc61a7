package dev.polis.rpc;

import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;

/** Answers the requests at a port while it is the newest tenant there. Thread-safe. */
final class PortTenant {

  private final SSLContext context;
  private final SSLParameters parameters;
  private final TlsHandler handler;
  private final HandshakeLog handshakes;
  // Guarded by this.
  private final Set<Thread> busy = new HashSet<>();
  private boolean finished;

  PortTenant(
      SSLContext context, SSLParameters parameters, TlsHandler handler, HandshakeLog handshakes) {
    this.context = context;
    this.parameters = parameters;
    this.handler = handler;
    this.handshakes = handshakes;
  }

  SSLContext context() {
    return context;
  }

  SSLParameters parameters() {
    return parameters;
  }

  TlsHandler handler() {
    return handler;
  }

  HandshakeLog handshakes() {
    return handshakes;
  }

  /** Begins a request on the calling thread; returns false if another tenant must answer it. */
  synchronized boolean enter() {
    if (!finished) {
      busy.add(Thread.currentThread());
    }
    return !finished;
  }

  /** Ends the request of the calling thread. */
  synchronized void leave() {
    busy.remove(Thread.currentThread());
    notifyAll();
  }

  /** Begins no further requests, waits for the running ones, and then interrupts the rest. */
  void finish(Duration within) {
    long end = System.nanoTime() + within.toNanos();
    synchronized (this) {
      finished = true;
      try {
        while (!busy.isEmpty() && System.nanoTime() < end) {
          TimeUnit.NANOSECONDS.timedWait(this, end - System.nanoTime());
        }
      } catch (InterruptedException hurried) {
        Thread.currentThread().interrupt();
      }
      // Under the lock: after leave() the thread may do other work, which an interrupt would
      // disturb.
      busy.forEach(Thread::interrupt);
    }
  }
}
