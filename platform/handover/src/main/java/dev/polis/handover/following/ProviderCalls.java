package dev.polis.handover.following;

import java.util.concurrent.atomic.AtomicInteger;
import org.osgi.framework.ServiceReference;

/** Counts the calls under way on one provider. Thread-safe. */
final class ProviderCalls {
  private final ServiceReference<?> reference;
  private final Object service;
  private final ServiceProvider provider;
  private final AtomicInteger underWay = new AtomicInteger();
  private volatile boolean retired;

  ProviderCalls(ServiceReference<?> reference, Object service) {
    this.reference = reference;
    this.service = service;
    this.provider = ServiceProvider.of(reference.getBundle());
  }

  /** Returns the same provider, with no call under way. */
  ProviderCalls anew() {
    return new ProviderCalls(reference, service);
  }

  ServiceReference<?> reference() {
    return reference;
  }

  Object service() {
    return service;
  }

  ServiceProvider provider() {
    return provider;
  }

  /** Counts a call in, to be counted out; returns false if the provider takes no new ones. */
  boolean enter() {
    underWay.incrementAndGet();
    // Read after the count: a thread that retires the provider reads the count afterwards.
    return !retired;
  }

  /** Counts a call out; returns whether it was the last one of a retired provider. */
  boolean leave() {
    return underWay.decrementAndGet() == 0 && retired;
  }

  /** Takes no new calls from now on. */
  void retire() {
    retired = true;
  }

  boolean retired() {
    return retired;
  }

  int underWay() {
    return underWay.get();
  }
}
