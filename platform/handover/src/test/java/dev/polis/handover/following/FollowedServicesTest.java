package dev.polis.handover.following;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.base.values.Watcher;
import dev.polis.base.values.WatcherClosedException;
import dev.polis.fixtures.Await;
import dev.polis.plugins.swap.Replacement;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Hashtable;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.Constants;
import org.osgi.framework.ServiceEvent;
import org.osgi.framework.ServiceReference;
import org.osgi.framework.ServiceRegistration;
import org.osgi.framework.hooks.service.EventListenerHook;
import org.osgi.framework.hooks.service.FindHook;
import org.osgi.framework.hooks.service.ListenerHook.ListenerInfo;

/** Replaces providers of a contract in a real framework, while a user stays. */
@Timeout(60)
final class FollowedServicesTest {
  @TempDir Path folder;
  private TestFramework framework;
  private Bundle first;
  private Bundle second;

  @BeforeEach
  void start() throws Exception {
    framework = new TestFramework(folder, TestFramework.generous());
    first = framework.bundle("shelves", "1.0.0");
    second = framework.bundle("shelves", "2.0.0");
  }

  @AfterEach
  void stop() throws Exception {
    framework.close();
  }

  @Test
  @DisplayName("a user gets the proxy; the provider itself and the system bundle see the provider")
  void theUserGetsTheProxy() {
    TestShelf shelf = new TestShelf("a");
    TestFramework.provide(first, shelf);

    assertEquals(
        List.of("dev.polis.handover.following"),
        providers(framework.user),
        "the providers that the user finds");
    assertNotSame(shelf, framework.shelf());
    assertTrue(providers(first).contains("shelves"));
    assertTrue(providers(framework.system()).contains("shelves"));
    assertEquals("a:b", call(() -> framework.shelf().read("b")));
    assertEquals(
        new FollowedService.Provided(new ServiceProvider("shelves", "1.0.0", first.getBundleId())),
        framework.status().provision());
  }

  @Test
  @DisplayName("a provider with another service beside the contract is found by that service")
  void anotherServiceIsFound() {
    TestShelf shelf = new TestShelf("a");
    first
        .getBundleContext()
        .registerService(
            new String[] {Shelf.class.getName(), Object.class.getName()}, shelf, new Hashtable<>());

    assertSame(
        shelf,
        framework
            .user
            .getBundleContext()
            .getService(framework.user.getBundleContext().getServiceReference(Object.class)));
    assertEquals(List.of("dev.polis.handover.following"), providers(framework.user));
  }

  @Test
  @DisplayName("a lookup of a service waits for no lock of a class loader")
  void aLookupTakesNoLock() throws Exception {
    ClassLoader loader = new ServiceFollower.FactoryLoader(Shelf.class);
    CountDownLatch held = new CountDownLatch(1);
    CountDownLatch end = new CountDownLatch(1);
    Thread holder =
        Thread.ofPlatform()
            .start(
                () -> {
                  synchronized (loader) {
                    held.countDown();
                    assertTrue(call(() -> end.await(30, TimeUnit.SECONDS)));
                  }
                });
    held.await();
    try {
      FutureTask<Class<?>> found = new FutureTask<>(() -> loader.loadClass(Shelf.class.getName()));
      Thread.ofPlatform().start(found);
      assertSame(Shelf.class, found.get(20, TimeUnit.SECONDS));
    } finally {
      end.countDown();
      holder.join();
    }
  }

  @Test
  @DisplayName("calls that wait in their provider leave the carriers to other virtual threads")
  void aWaitingCallKeepsNoCarrier() throws Exception {
    TestShelf shelf = new TestShelf("a");
    TestFramework.provide(first, shelf);
    Shelf proxy = framework.shelf();
    List<Future<String>> calls = new ArrayList<>();
    for (int i = 0; i < Runtime.getRuntime().availableProcessors(); i++) {
      calls.add(run(proxy::await));
    }
    shelf.entered.await();

    assertEquals("a:x", run(() -> proxy.read("x")).get(30, TimeUnit.SECONDS));

    shelf.released.countDown();
    for (Future<String> call : calls) {
      assertEquals("a", call.get());
    }
  }

  @Test
  @DisplayName("a user gets events of the proxy only, with any provider")
  void theUserIsToldOfTheProxy() throws Exception {
    List<String> events = events();
    ServiceRegistration<Shelf> one = TestFramework.provide(first, new TestShelf("a"));
    TestFramework.provide(second, new TestShelf("b"));
    one.unregister();

    assertEquals(List.of("registered dev.polis.handover.following"), events);
  }

  @Test
  @DisplayName("a bundle that stops while it looks for a service finds no provider of the contract")
  void theUserStopsMeanwhile() throws Exception {
    TestFramework.provide(first, new TestShelf("a"));
    BundleContext stopped = framework.user.getBundleContext();
    List<ServiceReference<?>> found = new ArrayList<>(TestFramework.references(first));
    assertTrue(providers(first).contains("shelves"));
    framework.user.stop();

    hook(FindHook.class).find(stopped, Shelf.class.getName(), null, false, found);

    assertEquals(
        List.of("dev.polis.handover.following"),
        found.stream().map(each -> each.getBundle().getSymbolicName()).toList());
  }

  @Test
  @DisplayName("a listener that stops while an event is on its way shows no provider to the others")
  void aListenerStopsMeanwhile() throws Exception {
    ServiceReference<?> provider = TestFramework.provide(first, new TestShelf("a")).getReference();
    Map<BundleContext, Collection<ListenerInfo>> listeners = new LinkedHashMap<>();
    for (Bundle each : List.of(second, framework.user)) {
      BundleContext context = each.getBundleContext();
      listeners.put(context, new ArrayList<>(List.of(listener(context))));
    }
    second.stop();

    hook(EventListenerHook.class)
        .event(new ServiceEvent(ServiceEvent.REGISTERED, provider), listeners);

    assertTrue(listeners.values().stream().allMatch(Collection::isEmpty), listeners::toString);
  }

  @Test
  @DisplayName("an event of a provider that was uninstalled meanwhile is passed on")
  void theProviderIsUninstalledMeanwhile() throws Exception {
    ServiceReference<?> provider = TestFramework.provide(first, new TestShelf("a")).getReference();
    BundleContext context = framework.user.getBundleContext();
    Map<BundleContext, Collection<ListenerInfo>> listeners =
        Map.of(context, new ArrayList<>(List.of(listener(context))));
    first.uninstall();

    hook(EventListenerHook.class)
        .event(new ServiceEvent(ServiceEvent.UNREGISTERING, provider), listeners);

    assertEquals(1, listeners.get(context).size());
  }

  private <T> T hook(Class<T> type) {
    BundleContext system = framework.system().getBundleContext();
    return system.getService(system.getServiceReference(type));
  }

  private static ListenerInfo listener(BundleContext context) {
    return new ListenerInfo() {
      @Override
      public BundleContext getBundleContext() {
        return context;
      }

      @Override
      public String getFilter() {
        return "(objectClass=" + Shelf.class.getName() + ")";
      }

      @Override
      public boolean isRemoved() {
        return false;
      }
    };
  }

  @Test
  @DisplayName("of two providers the first is used until it stops, then the other takes over")
  void theOtherTakesOver() throws Exception {
    ServiceRegistration<Shelf> one = TestFramework.provide(first, new TestShelf("a"));
    Shelf shelf = framework.shelf();
    ServiceRegistration<Shelf> two = TestFramework.provide(second, new TestShelf("b"));
    assertEquals("a:x", shelf.read("x"));
    one.unregister();
    assertEquals("b:x", shelf.read("x"));
    assertSame(shelf, framework.shelf(), "the proxy stays the same");
    TestFramework.provide(first, new TestShelf("c"));
    assertEquals("b:x", shelf.read("x"));
    two.unregister();
    assertEquals("c:x", shelf.read("x"));
  }

  @Test
  @DisplayName("calls wait while the provider hands its state over, and then reach the successor")
  void callsWaitForTheStateToArrive() throws Exception {
    TestShelf former = new TestShelf("a");
    former.label.set("red");
    TestFramework.provide(first, former);
    Shelf shelf = framework.shelf();
    try (ServiceSwap _ = framework.services().begin(first, second)) {
      List<Future<String>> calls = new ArrayList<>();
      TestFramework.activate(
          second,
          () -> {
            framework.handOvers().gives("shelves");
            calls.add(run(() -> shelf.read("x")));
            awaitOneWaiting();
            assertEquals(Optional.of("red"), shelf.label().peek(), "values are read on");
            return new TestShelf("b");
          });
      assertEquals("b:x", calls.getFirst().get(10, TimeUnit.SECONDS));
      assertEquals("b:y", shelf.read("y"));
    }
  }

  @Test
  @DisplayName("a provider that keeps its state gets the waiting calls")
  void callsGoBackToWhoKeepsItsState() throws Exception {
    TestFramework.provide(first, new TestShelf("a"));
    Shelf shelf = framework.shelf();
    try (ServiceSwap _ = framework.services().begin(first, second)) {
      List<Future<String>> calls = new ArrayList<>();
      TestFramework.activate(
          second,
          () -> {
            framework.handOvers().gives("shelves");
            calls.add(run(() -> shelf.read("x")));
            awaitOneWaiting();
            framework.handOvers().resumes("shelves");
            return null;
          });
      assertEquals("a:x", calls.getFirst().get(10, TimeUnit.SECONDS));
      assertEquals("a:y", shelf.read("y"));
    }
  }

  @Test
  @DisplayName("when a successor stops again, calls wait until its predecessor has its state back")
  void callsWaitForTheStateToComeBack() throws Exception {
    TestFramework.provide(first, new TestShelf("a"));
    Shelf shelf = framework.shelf();
    try (ServiceSwap swap = framework.services().begin(first, second)) {
      ServiceRegistration<?> two =
          TestFramework.activate(
              second,
              () -> {
                framework.handOvers().gives("shelves");
                return new TestShelf("b");
              });
      assertEquals("b:x", shelf.read("x"));
      swap.switchTo(first);
      assertEquals("b:x", shelf.read("x"), "the first one has no state");
      two.unregister();
      Future<String> waiting = run(() -> shelf.read("x"));
      awaitOneWaiting();
      framework.handOvers().resumes("shelves");
      assertEquals("a:x", waiting.get(10, TimeUnit.SECONDS));
    }
    assertEquals("a:y", shelf.read("y"));
  }

  @Test
  @DisplayName("a hand-over of another organ delays no call")
  void anotherOrganHandsOver() throws Exception {
    TestFramework.provide(first, new TestShelf("a"));
    Shelf shelf = framework.shelf();
    try (ServiceSwap _ = framework.services().begin(first, second)) {
      framework.handOvers().gives("drawers");
      assertEquals("a:x", shelf.read("x"));
    }
  }

  @Test
  @DisplayName(
      "an update of the providing bundle keeps its users: calls wait until it provides again")
  void aBundleTakesItsOwnPlace() throws Exception {
    ServiceRegistration<Shelf> one = TestFramework.provide(first, new TestShelf("a"));
    List<String> events = events();
    Shelf shelf = framework.shelf();
    try (ServiceSwap _ = framework.services().begin(first, first)) {
      one.unregister();
      Future<String> waiting = run(() -> shelf.read("x"));
      awaitOneWaiting();
      TestFramework.provide(first, new TestShelf("b"));
      assertEquals("b:x", waiting.get(10, TimeUnit.SECONDS));
    }
    assertEquals("b:y", shelf.read("y"));
    assertEquals(List.of(), events, "the users' proxy stays");
  }

  @Test
  @DisplayName(
      "when the only provider stops unannounced, users lose the proxy, which works until then")
  void theProxyGoesWithItsOnlyProvider() throws Exception {
    List<String> answers = new CopyOnWriteArrayList<>();
    ServiceRegistration<Shelf> one = TestFramework.provide(first, new TestShelf("a"));
    Shelf shelf = framework.shelf();
    framework
        .user
        .getBundleContext()
        .addServiceListener(
            event -> {
              if (event.getType() == ServiceEvent.UNREGISTERING) {
                answers.add(call(() -> shelf.read("last")));
              }
            },
            "(objectClass=" + Shelf.class.getName() + ")");
    one.unregister();

    assertEquals(List.of("a:last"), answers);
    assertEquals(List.of(), providers(framework.user));
    assertEquals(new FollowedService.Absent(), framework.status().provision());
    String message = assertThrows(ServiceAwayException.class, () -> shelf.read("x")).getMessage();
    assertEquals("Shelf.read cannot be called: no bundle provides it any more", message);
  }

  @Test
  @DisplayName("answers and exceptions pass through; default methods and parts follow")
  void methodsPassThrough() throws Exception {
    TestShelf broken = new TestShelf("broken");
    ServiceRegistration<Shelf> one = TestFramework.provide(first, broken);
    broken.label.set("old");
    Shelf shelf = framework.shelf();
    Shelf.Box box = shelf.box();
    assertEquals("broken's box", box.content());
    assertSame(box, shelf.box());
    assertEquals(
        "broken has no empty title",
        assertThrows(IOException.class, () -> shelf.read("")).getMessage());
    assertEquals("broken", assertThrows(IllegalStateException.class, shelf::title).getMessage());
    assertEquals("Shelf of shelves 1.0.0", shelf.toString());
    assertEquals(shelf, shelf);
    assertNotEquals(shelf, box);

    TestShelf good = new TestShelf("good");
    good.label.set("new");
    TestFramework.provide(second, good);
    one.unregister();
    assertEquals("good's box", box.content());
    assertEquals("new with 4", shelf.title());
  }

  @Test
  @DisplayName("a swap of one organ does not wait for the activation of another organ's users")
  void oneOrganAlone() throws Exception {
    CountDownLatch entered = new CountDownLatch(1);
    CountDownLatch released = new CountDownLatch(1);
    try (TestFramework two =
        new TestFramework(
            folder.resolve("two"),
            TestFramework.generous(),
            List.of(Shelf.class, Shelf.Box.class))) {
      Bundle shelves = two.bundle("shelves", "1.0.0");
      Bundle boxes = two.bundle("boxes", "1.0.0");
      boxes.getBundleContext().registerService(Shelf.Box.class, () -> "content", new Hashtable<>());
      two.user
          .getBundleContext()
          .addServiceListener(
              event -> {
                entered.countDown();
                pause(released);
              },
              "(objectClass=" + Shelf.class.getName() + ")");
      FutureTask<ServiceRegistration<Shelf>> activation =
          new FutureTask<>(() -> TestFramework.provide(shelves, new TestShelf("a")));
      Thread.ofVirtual().start(activation);
      entered.await();

      FutureTask<Set<String>> announced =
          new FutureTask<>(
              () -> {
                try (ServiceSwap swap = two.services().begin(boxes, boxes)) {
                  two.handOvers().gives("boxes");
                  two.handOvers().resumes("boxes");
                  return swap.contracts();
                }
              });
      Thread.ofVirtual().start(announced);

      try {
        assertEquals(Set.of(Shelf.Box.class.getName()), announced.get(10, TimeUnit.SECONDS));
      } finally {
        released.countDown();
        activation.get();
      }
    }
  }

  private static void pause(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  @DisplayName("an open watcher continues with the successor and returns no state twice")
  void watchersGoOn() throws Exception {
    TestShelf a = new TestShelf("a");
    TestShelf b = new TestShelf("b");
    a.label.set("one");
    b.label.set("one");
    ServiceRegistration<Shelf> one = TestFramework.provide(first, a);
    TestFramework.provide(second, b);
    try (Watcher<String> watcher = framework.shelf().label().watch()) {
      assertEquals("one", watcher.get());
      Future<String> waiting = run(watcher::get);
      Await.until("the watcher to wait", () -> a.label.toString().contains("one"));
      one.unregister();
      assertThrows(
          TimeoutException.class,
          () -> waiting.get(50, TimeUnit.MILLISECONDS),
          "an equal state was returned again");
      b.label.set("two");
      assertEquals("two", waiting.get());
      assertEquals(Optional.empty(), watcher.poll());
      b.label.set("three");
      assertEquals(Optional.of("three"), watcher.poll());
      assertEquals(Optional.of("three"), framework.shelf().label().peek());
    }
  }

  @Test
  @DisplayName(
      "a watcher of an absent service waits until it is back, or until it is closed or interrupted")
  void watchersWait() throws Exception {
    TestShelf a = new TestShelf("a");
    a.label.set("one");
    ServiceRegistration<Shelf> one = TestFramework.provide(first, a);
    Watcher<String> watcher = framework.shelf().label().watch();
    assertEquals("one", watcher.get());
    one.unregister();
    assertEquals(Optional.empty(), watcher.poll());
    assertThrows(TimeoutException.class, () -> watcher.get(Duration.ofMillis(5)));
    Thread.currentThread().interrupt();
    assertThrows(InterruptedException.class, watcher::get);
    Future<String> waiting = run(watcher::get);
    TestShelf b = new TestShelf("b");
    b.label.set("two");
    TestFramework.provide(second, b);
    framework.shelf();
    assertEquals("two", waiting.get());

    Future<String> last = run(watcher::get);
    watcher.close();
    assertInstanceOf(
        WatcherClosedException.class, assertThrows(ExecutionException.class, last::get).getCause());
  }

  @Test
  @DisplayName(
      "calls during a swap wait and reach the successor; those under way end before the swap continues")
  void callsAreHeldAndDrained() throws Exception {
    TestShelf a = new TestShelf("a");
    ServiceRegistration<Shelf> one = TestFramework.provide(first, a);
    Shelf shelf = framework.shelf();
    Future<String> underWay = run(shelf::await);
    a.entered.await();
    try (ServiceSwap swap = framework.services().begin(first, second)) {
      assertEquals(Set.of(Shelf.class.getName()), swap.contracts());
      CompletableFuture<Future<String>> held = new CompletableFuture<>();
      Future<?> switched =
          run(
              () ->
                  TestFramework.activate(
                      second,
                      () -> {
                        framework.handOvers().gives("shelves");
                        held.complete(run(() -> shelf.read("x")));
                        awaitOneWaiting();
                        assertInstanceOf(
                            FollowedService.Held.class, framework.status().provision());
                        return new TestShelf("b");
                      }));
      assertEquals("b:x", held.get().get());
      assertFalse(switched.isDone(), "a call is under way on the first");
      a.released.countDown();
      switched.get();
      assertEquals("a", underWay.get());
      one.unregister();
    }
    assertEquals("b:y", shelf.read("y"));
    assertEquals(0, framework.status().waitingCalls());
  }

  @Test
  @DisplayName(
      "a swap keeps the proxy while there is no provider, and the next provider is used at once")
  void theProxyStaysInASwap() throws Exception {
    ServiceRegistration<Shelf> one = TestFramework.provide(first, new TestShelf("a"));
    Shelf shelf = framework.shelf();
    List<String> events = events();
    try (ServiceSwap swap = framework.services().begin(first, second)) {
      assertFalse(swap.contracts().isEmpty());
      one.unregister();
      Future<String> held = run(() -> shelf.read("x"));
      Await.until("the call to wait", () -> framework.status().waitingCalls() == 1);
      TestFramework.provide(second, new TestShelf("b"));
      assertEquals("b:x", held.get());
    }
    assertEquals("b:y", shelf.read("y"));
    assertEquals(List.of(), events);
  }

  @Test
  @DisplayName(
      "the engine's swap directs calls to the successor once it provides, and back when it stops")
  void theEngineSwaps() throws Exception {
    TestFramework.provide(first, new TestShelf("a"));
    Shelf shelf = framework.shelf();
    FollowedSwaps swaps =
        new FollowedSwaps(framework.system().getBundleContext(), framework.services());
    List<Replacement> replacements =
        List.of(new Replacement("shelves", first.getBundleId(), second.getBundleId()));
    swaps.begins(replacements);
    ServiceRegistration<Shelf> two = TestFramework.provide(second, new TestShelf("b"));
    assertEquals("b:x", shelf.read("x"));
    swaps.switches(replacements);
    assertEquals("b:x", shelf.read("x"));
    swaps.switches(List.of(replacements.getFirst().reversed()));
    assertEquals("a:x", shelf.read("x"));
    two.unregister();
    swaps.ends(replacements, false);
    assertEquals("a:x", shelf.read("x"));
    framework.services().begin(first, second).close();
  }

  @Test
  @DisplayName("a swap that ends without a provider has the effect of an unannounced stop")
  void aSwapEndsWithoutAProvider() throws Exception {
    ServiceRegistration<Shelf> one = TestFramework.provide(first, new TestShelf("a"));
    Shelf shelf = framework.shelf();
    ServiceSwap swap = framework.services().begin(first, second);
    one.unregister();
    Future<String> held = run(() -> shelf.read("x"));
    Await.until("the call to wait", () -> framework.status().waitingCalls() == 1);
    swap.close();
    assertInstanceOf(
        ServiceAwayException.class, assertThrows(ExecutionException.class, held::get).getCause());
    assertEquals(List.of(), providers(framework.user));
  }

  @Test
  @DisplayName("a swap that is reverted, or closed before its end, leaves the predecessor in use")
  void aSwapIsReverted() throws Exception {
    TestFramework.provide(first, new TestShelf("a"));
    Shelf shelf = framework.shelf();
    ServiceRegistration<Shelf> two = TestFramework.provide(second, new TestShelf("b"));
    try (ServiceSwap swap = framework.services().begin(first, second)) {
      swap.switchTo(second);
      assertEquals("b:x", shelf.read("x"));
      swap.switchTo(first);
      assertEquals("a:x", shelf.read("x"));
      swap.switchTo(second);
      two.unregister();
      assertEquals("a:x", shelf.read("x"), "the successor went within the swap");
    }
    assertEquals("a:x", shelf.read("x"));
    try (ServiceSwap swap = framework.services().begin(first, second)) {
      String message =
          assertThrows(IllegalStateException.class, () -> swap.switchTo(second)).getMessage();
      assertEquals(
          "shelves 2.0.0 does not provide " + Shelf.class.getName() + " at present", message);
      assertThrows(IllegalStateException.class, () -> framework.services().begin(first, second));
    }
    framework.services().begin(first, second).close();
  }

  @Test
  @DisplayName("a predecessor that goes while its successor is activated delays no thread for ever")
  void thePredecessorGoesDuringTheActivation() throws Exception {
    ServiceRegistration<Shelf> one = TestFramework.provide(first, new TestShelf("a"));
    Shelf shelf = framework.shelf();
    try (ServiceSwap _ = framework.services().begin(first, second)) {
      Future<?> activated =
          run(
              () ->
                  TestFramework.activate(
                      second,
                      () -> {
                        Thread going = Thread.ofVirtual().start(one::unregister);
                        awaitEndOrWait(going);
                        framework.handOvers().gives("shelves");
                        return new TestShelf("b");
                      }));
      activated.get(10, TimeUnit.SECONDS);
      assertEquals("b:x", shelf.read("x"));
    }
    assertEquals("b:y", shelf.read("y"));
  }

  @Test
  @DisplayName(
      "a successor whose activation ends after its swap is offered if no other provider is left")
  void aSuccessorThatComesAfterItsSwap() throws Exception {
    ServiceRegistration<Shelf> one = TestFramework.provide(first, new TestShelf("a"));
    Shelf shelf = framework.shelf();
    ServiceSwap swap = framework.services().begin(first, second);
    AtomicBoolean ended = new AtomicBoolean();
    TestFramework.activate(
        second,
        () -> {
          if (ended.compareAndSet(false, true)) {
            awaitEndOrWait(
                Thread.ofVirtual()
                    .start(
                        () -> {
                          one.unregister();
                          swap.close();
                        }));
          }
          return new TestShelf("b");
        });
    assertEquals("b:x", framework.shelf().read("x"));
    assertEquals("b:x", shelf.read("x"));
  }

  private static void awaitEndOrWait(Thread thread) {
    call(
        () -> {
          Await.until(
              "the other thread to end, or to wait",
              () -> !thread.isAlive() || thread.getState() == Thread.State.WAITING);
          return "";
        });
  }

  @Test
  @DisplayName("a successor that goes during its activation is forgotten: calls wait for the next")
  void aSuccessorThatGoesDuringItsActivation() throws Exception {
    ServiceRegistration<Shelf> one = TestFramework.provide(first, new TestShelf("a"));
    Shelf shelf = framework.shelf();
    try (ServiceSwap _ = framework.services().begin(first, second)) {
      TestFramework.activate(
          second,
          () -> {
            call(
                () -> {
                  second.stop();
                  return "";
                });
            return null;
          });
      one.unregister();
      assertInstanceOf(FollowedService.Held.class, framework.status().provision());
      Future<String> waiting = run(() -> shelf.read("x"));
      awaitOneWaiting();
      TestFramework.provide(first, new TestShelf("c"));
      assertEquals("c:x", waiting.get(10, TimeUnit.SECONDS));
    }
  }

  @Test
  @DisplayName(
      "a successor that goes within its swap is followed by its predecessor, not by a third")
  void aThirdProviderGetsNothing() throws Exception {
    TestFramework.provide(first, new TestShelf("a"));
    Shelf shelf = framework.shelf();
    Hashtable<String, Object> best = new Hashtable<>();
    best.put(Constants.SERVICE_RANKING, Integer.MAX_VALUE);
    framework
        .bundle("impostor", "1.0.0")
        .getBundleContext()
        .registerService(Shelf.class, new TestShelf("impostor"), best);
    try (ServiceSwap _ = framework.services().begin(first, second)) {
      ServiceRegistration<Shelf> two = TestFramework.provide(second, new TestShelf("b"));
      assertEquals("b:x", shelf.read("x"));
      two.unregister();
      assertEquals("a:x", shelf.read("x"));
    }
    assertEquals("a:y", shelf.read("y"));
  }

  @Test
  @DisplayName("a replaced provider is released, although a watcher of it is open")
  void theProviderIsLetGo() throws Exception {
    ServiceRegistration<Shelf> one = TestFramework.provide(first, new TestShelf("a"));
    WeakReference<Object> object = new WeakReference<>(service(one));
    Shelf shelf = framework.shelf();
    Watcher<String> watcher = shelf.label().watch();
    assertEquals(Optional.empty(), watcher.poll());
    Shelf.Box box = shelf.box();
    assertEquals("a's box", box.content());
    TestFramework.provide(second, new TestShelf("b"));
    one.unregister();
    one = null;
    Await.until(
        "the former provider to be collected",
        () -> {
          System.gc();
          return object.get() == null;
        });
    assertEquals("b's box", box.content());
    watcher.close();
  }

  private Object service(ServiceRegistration<Shelf> registration) {
    Object service = first.getBundleContext().getService(registration.getReference());
    first.getBundleContext().ungetService(registration.getReference());
    return service;
  }

  private List<String> events() throws Exception {
    List<String> events = new CopyOnWriteArrayList<>();
    framework
        .user
        .getBundleContext()
        .addServiceListener(
            event ->
                events.add(
                    (event.getType() == ServiceEvent.REGISTERED ? "registered " : "other ")
                        + event.getServiceReference().getBundle().getSymbolicName()),
            "(objectClass=" + Shelf.class.getName() + ")");
    return events;
  }

  private static List<String> providers(Bundle seeker) {
    List<String> names = new ArrayList<>();
    TestFramework.references(seeker)
        .forEach(reference -> names.add(reference.getBundle().getSymbolicName()));
    return names;
  }

  private interface Body<T> {
    T run() throws Exception;
  }

  private static <T> T call(Body<T> body) {
    try {
      return body.run();
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  private void awaitOneWaiting() {
    call(
        () -> {
          Await.until("the call to wait", () -> framework.status().waitingCalls() == 1);
          return "";
        });
  }

  private static <T> Future<T> run(Body<T> body) {
    FutureTask<T> task = new FutureTask<>(body::run);
    Thread.ofVirtual().start(task);
    return task;
  }

  /** Checks that waits end. */
  @Test
  @DisplayName("a call waits for a limited time, and an interrupt ends its wait")
  void aWaitHasAnEnd() throws Exception {
    try (TestFramework hasty =
        new TestFramework(
            folder.resolve("hasty"),
            new FollowingLimits(Duration.ofMillis(20), Duration.ofMillis(20)))) {
      Bundle only = hasty.bundle("shelves", "1.0.0");
      ServiceRegistration<Shelf> one = TestFramework.provide(only, new TestShelf("a"));
      Shelf shelf = hasty.shelf();
      try (ServiceSwap _ = hasty.services().begin(only, only)) {
        one.unregister();
        assertEquals(
            "Shelf.size waited 0 s for a provider: shelves 1.0.0 is gone, and is being replaced;"
                + " call again, polisctl plugin graph shows its provider",
            assertThrows(ServiceAwayException.class, shelf::size).getMessage());
        Thread.currentThread().interrupt();
        assertThrows(InterruptedException.class, shelf::await);
        Thread.currentThread().interrupt();
        assertThrows(ServiceAwayException.class, shelf::size);
        assertTrue(Thread.interrupted(), "the interrupt was lost");
        TestFramework.provide(only, new TestShelf("a"));
      }
      assertEquals(1, shelf.size());
    }
  }
}
