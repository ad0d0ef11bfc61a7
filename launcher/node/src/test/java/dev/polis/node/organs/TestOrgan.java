package dev.polis.node.organs;

import dev.polis.base.boot.BootReport;
import dev.polis.base.boot.Wait;
import java.util.ArrayList;
import java.util.Hashtable;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleActivator;
import org.osgi.framework.BundleContext;
import org.osgi.framework.BundleException;
import org.osgi.framework.ServiceFactory;
import org.osgi.framework.ServiceReference;
import org.osgi.framework.ServiceRegistration;

/**
 * Stands for an organ in tests of the launcher: the system property with its symbolic name sets its
 * behaviour. It prints a line when it starts and when it stops.
 */
public final class TestOrgan implements BundleActivator, ServiceFactory<Object> {
  @Override
  public void start(BundleContext context) throws BundleException {
    String name = context.getBundle().getSymbolicName();
    System.out.println("STARTED " + name);
    BootReport report = report(context);
    switch (System.getProperty(name, "nothing")) {
      case "home" -> report.home("node-1 is HOME");
      case "warn" -> {
        System.err.println("a warning of a library");
        report.home("node-1 is HOME");
      }
      case "noise" -> {
        new IllegalStateException("noise of a library").printStackTrace();
        throw new IllegalArgumentException("the ticket is too short: 3 bytes");
      }
      case "throw" ->
          throw new IllegalStateException(
              "enrolment failed", new IllegalArgumentException("the ticket is too short: 3 bytes"));
      case "NoClassDefFoundError" -> throw new NoClassDefFoundError("dev/polis/lost/Type");
      case "ExceptionInInitializerError" ->
          throw new ExceptionInInitializerError(new IllegalStateException("no such zone"));
      case "StackOverflowError" -> throw new StackOverflowError(null);
      case "fatal" ->
          report.fatal(
              "cluster",
              new IllegalStateException(
                  "enrolment failed",
                  new IllegalArgumentException("the ticket is too short: 3 bytes")));
      case "wait" -> {
        Wait wait = report.waiting("a leader");
        wait.detail("1 of 3 members answers");
      }
      case "swaps" ->
          context.registerService("dev.polis.plugins.local.LocalPlugins", this, new Hashtable<>());
      case "removes-kubernetes" -> {
        for (Bundle each : context.getBundles()) {
          if (each.getSymbolicName().equals("dev.polis.kubernetes")) {
            each.uninstall();
          }
        }
      }
      case "eat" -> {
        report.home("node-1 is HOME");
        Thread.ofVirtual().name("eats").start(TestOrgan::eat);
      }
      case "hog" -> {
        report.home("node-1 is HOME");
        // Twice as many threads as there can be carriers, so that no other thread can run.
        for (int number = 0; number < 8 * Runtime.getRuntime().availableProcessors(); number++) {
          Thread.ofVirtual().name("hog-" + number).start(TestOrgan::compute);
        }
      }
      case "pin" -> {
        report.home("node-1 is HOME");
        Thread.ofPlatform().start(new PinnedCarriers());
      }
      default -> {
        // The organ does nothing, or hangs in its stop.
      }
    }
  }

  private static void eat() {
    List<byte[]> eaten = new ArrayList<>();
    while (true) {
      eaten.add(new byte[1 << 20]);
    }
  }

  private static void compute() {
    while (true) {
      Thread.onSpinWait();
    }
  }

  @Override
  public void stop(BundleContext context) throws InterruptedException {
    switch (System.getProperty(context.getBundle().getSymbolicName(), "nothing")) {
      case "hang" -> new CountDownLatch(1).await();
      case "hog" -> Thread.ofVirtual().name("waits for a processor").start(() -> {}).join();
      default -> {
        // The organ stops at once.
      }
    }
    System.out.println(
        "STOPPED " + context.getBundle().getSymbolicName() + " " + report(context).stopReason());
  }

  /** Offers an object of no certain type, since this bundle knows no types of the node. */
  @Override
  public Object getService(Bundle user, ServiceRegistration<Object> own) {
    return this;
  }

  @Override
  public void ungetService(Bundle user, ServiceRegistration<Object> own, Object service) {
    // There is nothing to end.
  }

  private static BootReport report(BundleContext context) {
    ServiceReference<BootReport> reference = context.getServiceReference(BootReport.class);
    return context.getService(reference);
  }
}
