package dev.polis.handover;

import dev.polis.base.backoff.Uninterrupted;
import dev.polis.base.boot.StopReason;
import dev.polis.logtree.Log;
import dev.polis.logtree.LogTree;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * Records the instance in charge of each organ, and passes states between instances. The service of
 * that name uses it, and tests without a framework use it.
 *
 * <p>An organ changes hands by one thread at a time; others wait for it. Instances are called
 * without the lock.
 */
public final class HandOverTable implements HandOvers {

  /** How long an instance that comes or leaves waits for another change of its organ. */
  private static final Duration TURN = SwapDeadline.TURN.limit();

  /** How long the calls take together that give a state back. */
  private static final Duration RETURN = SwapDeadline.RETURN.limit();

  private final Log log;
  private final Duration patience;
  private final Duration activation;
  private final Supplier<StopReason> reason;
  private final Function<OrganInstance, Object> owner;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  // Guarded by lock. A line stays for ever: there are as many as organs, and waiters keep theirs.
  private final Map<String, Line> lines = new HashMap<>();
  private final List<HandOverListener> listeners = new CopyOnWriteArrayList<>();

  /** Lists the instances of one organ. Guarded by the lock. */
  private static final class Line {
    final List<Seat<?>> seats = new ArrayList<>();
    Seat<?> incumbent; // null while no instance is in charge
    boolean changing;
    final Set<Seat<?>> closing = new HashSet<>(); // have left with their state, and are not closed
  }

  private HandOverTable(
      Log log,
      Duration patience,
      Duration activation,
      Supplier<StopReason> reason,
      Function<OrganInstance, Object> owner) {
    this.log = log;
    this.patience = patience;
    this.activation = activation;
    this.reason = reason;
    this.owner = owner;
  }

  /** Opens a table whose instances are replaced; nothing needs to be closed. */
  public static HandOverTable open(LogTree logs) {
    return open(logs, () -> StopReason.CODE_REPLACED, instance -> instance);
  }

  /**
   * Opens a table; nothing needs to be closed.
   *
   * @param logs where hand-overs are logged
   * @param reason returns why an instance that leaves is closed
   * @param owner returns the bundle that an instance belongs to
   */
  public static HandOverTable open(
      LogTree logs, Supplier<StopReason> reason, Function<OrganInstance, Object> owner) {
    return new HandOverTable(
        logs.log("handover"), PATIENCE, SwapDeadline.START.limit(), reason, owner);
  }

  /**
   * Opens a table with other times.
   *
   * @param patience instead of {@link #PATIENCE}
   * @param activation how long an instance may take to start while there is another
   */
  static HandOverTable open(LogTree logs, Duration patience, Duration activation) {
    return new HandOverTable(
        logs.log("handover"),
        patience,
        activation,
        () -> StopReason.CODE_REPLACED,
        instance -> instance);
  }

  /** Notifies a listener of each hand-over from now on. */
  public void add(HandOverListener listener) {
    listeners.add(listener);
  }

  /** Notifies a listener no more. */
  public void remove(HandOverListener listener) {
    listeners.remove(listener);
  }

  private void announce(Consumer<HandOverListener> event) {
    for (HandOverListener listener : listeners) {
      try {
        event.accept(listener);
      } catch (RuntimeException | Error failed) {
        log.error("%s failed: %s", listener.getClass().getName(), failed, failed);
      }
    }
  }

  @Override
  public <I extends OrganInstance, E extends Exception> Membership<I> join(
      String organ, Starter<I, E> starter) throws E {
    beginChange(organ);
    Handing handing = new Handing(organ, incumbent(organ).orElse(null));
    Seat<I> seat;
    try {
      handing.begin();
      seat = start(handing, starter);
    } catch (Throwable failure) {
      handing.end();
      // The class alone: the text of a failure is code of the version that failed.
      handing.giveBack("the new instance failed with " + failure.getClass().getName());
      throw failure;
    } finally {
      handing.endChange();
    }
    abandoned(
        other -> other != seat && other.organ.equals(organ) && other.owner.equals(seat.owner));
    return seat;
  }

  /**
   * Removes the instances of a stopped bundle that Declarative Services did not deactivate, since
   * their component failed after it had joined.
   *
   * @param owner the bundle
   */
  public void stopped(Object owner) {
    abandoned(seat -> seat.owner.equals(owner));
  }

  private void abandoned(Predicate<Seat<?>> which) {
    for (Seat<?> seat : seats(which)) {
      log.warning(
          "%s: its component failed after it had joined; its instance leaves now", seat.organ);
      try {
        seat.leave();
      } catch (RuntimeException | Error failed) {
        log.error(
            "%s: the instance whose component failed has not closed all that it opened; restart the node (polisctl node restart --runtime) before the next swap",
            seat.organ, failed);
      }
    }
  }

  private List<Seat<?>> seats(Predicate<Seat<?>> which) {
    lock.lock();
    try {
      List<Seat<?>> found = new ArrayList<>();
      for (Line line : lines.values()) {
        line.seats.stream().filter(which).forEach(found::add);
      }
      return found;
    } finally {
      lock.unlock();
    }
  }

  private <I extends OrganInstance, E extends Exception> Seat<I> start(
      Handing handing, Starter<I, E> starter) throws E {
    I instance = starter.start(handing);
    Seat<I> seat = new Seat<>(handing.organ, instance);
    if (!handing.end()) {
      // Its state is elsewhere: it must decide nothing, and what it gives is known there.
      try {
        seat.give();
      } finally {
        instance.close(reason.get());
      }
      throw new HandOverException(
          "the new instance of %s took longer than %d s to start, and its state went back"
              .formatted(handing.organ, activation.toSeconds()));
    }
    enter(seat);
    return seat;
  }

  // ---- who is in charge

  private void beginChange(String organ) {
    lock.lock();
    try {
      Line line = lines.computeIfAbsent(organ, _ -> new Line());
      if (!await(() -> !line.changing, TURN)) {
        throw new HandOverException(
            "another hand-over of %s has been running for %d s; try again when it has ended"
                .formatted(organ, TURN.toSeconds()));
      }
      line.changing = true;
    } finally {
      lock.unlock();
    }
  }

  private void endChange(String organ) {
    lock.lock();
    try {
      lines.get(organ).changing = false;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Waits under the lock; an interrupted caller waits all the same and keeps its interrupt. */
  private boolean await(BooleanSupplier condition, Duration time) {
    long end = System.nanoTime() + time.toNanos();
    return Uninterrupted.call(
        () -> {
          while (!condition.getAsBoolean() && System.nanoTime() < end) {
            changed.awaitNanos(end - System.nanoTime());
          }
          return condition.getAsBoolean();
        });
  }

  private Optional<Seat<?>> incumbent(String organ) {
    lock.lock();
    try {
      return Optional.ofNullable(lines.get(organ).incumbent);
    } finally {
      lock.unlock();
    }
  }

  private void enter(Seat<?> seat) {
    lock.lock();
    try {
      Line line = lines.get(seat.organ);
      line.seats.add(seat);
      line.incumbent = seat;
    } finally {
      lock.unlock();
    }
  }

  private boolean isSeated(Seat<?> seat) {
    lock.lock();
    try {
      return lines.get(seat.organ).seats.contains(seat);
    } finally {
      lock.unlock();
    }
  }

  /**
   * Keeps an instance from leaving while another thread asks it for its state or gives one back;
   * returns false if it has left.
   */
  private boolean beginAsking(Seat<?> seat) {
    lock.lock();
    try {
      boolean there = seat != null && lines.get(seat.organ).seats.contains(seat);
      if (there) {
        seat.busy = true;
      }
      return there;
    } finally {
      lock.unlock();
    }
  }

  private void endAsking(Seat<?> seat, boolean gave) {
    lock.lock();
    try {
      seat.busy = false;
      seat.gave = gave;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Waits until the instances that have left with their state are closed, since an open one still
   * decides.
   */
  private void awaitClosed(String organ) {
    lock.lock();
    try {
      Line line = lines.get(organ);
      if (!await(line.closing::isEmpty, TURN)) {
        throw new HandOverException(
            "the instance of %s before this one is still closing after %d s; start this one when it is closed"
                .formatted(organ, TURN.toSeconds()));
      }
    } finally {
      lock.unlock();
    }
  }

  // ---- a successor comes

  /** Hands the state of the instance in charge to the one that is being started. */
  private final class Handing implements Predecessor {
    private final String organ;
    private final Seat<?> giver; // null if there is none
    private final CountDownLatch ended = new CountDownLatch(1);
    private OrganState taken; // null until it is taken
    private final AtomicReference<OrganState> owed = new AtomicReference<>(); // to be given back
    private boolean over; // guarded by this
    private boolean overdue; // guarded by this

    Handing(String organ, Seat<?> giver) {
      this.organ = organ;
      this.giver = giver;
    }

    /** Begins the start, whose time is limited if another instance waits for its end. */
    void begin() {
      if (giver != null) {
        Thread.ofVirtual().name("hand-over of " + organ).start(this::watch);
      }
    }

    /** Ends the start; returns false if its time was over before. */
    synchronized boolean end() {
      over = true;
      ended.countDown();
      return !overdue;
    }

    /**
     * Lets other threads change the organ, unless the end of this start's time has let them
     * already.
     */
    synchronized void endChange() {
      if (!overdue) {
        HandOverTable.this.endChange(organ);
      }
    }

    /** Gives the state back, and the organ free, when the time of the start is over. */
    private void watch() {
      try {
        if (ended.await(activation.toNanos(), TimeUnit.NANOSECONDS)) {
          return;
        }
      } catch (InterruptedException never) {
        throw new IllegalStateException("this thread is known to no other", never);
      }
      synchronized (this) {
        if (over) {
          return;
        }
        overdue = true;
      }
      try {
        giveBack("the new instance has not started within %d s".formatted(activation.toSeconds()));
      } finally {
        HandOverTable.this.endChange(organ);
      }
    }

    @Override
    public boolean exists() {
      return giver != null && isSeated(giver);
    }

    @Override
    public OrganState facts() {
      requireStarting();
      return exists() ? giver.facts() : OrganState.NONE;
    }

    @Override
    public OrganState take() {
      requireStarting();
      if (taken != null) {
        return taken;
      }
      long began = System.nanoTime();
      if (!beginAsking(giver)) {
        awaitClosed(organ);
        return OrganState.NONE;
      }
      try {
        announce(listener -> listener.gives(organ));
        taken = giver.give();
        owed.set(taken);
      } finally {
        endAsking(giver, taken != null);
        if (taken == null) {
          announce(listener -> listener.resumes(organ));
        }
      }
      log.info(
          "%s: the new instance took over %s in %d ms",
          organ, taken, Duration.ofNanos(System.nanoTime() - began).toMillis());
      return taken;
    }

    private synchronized void requireStarting() {
      if (over || overdue) {
        throw new HandOverException(
            "%s asks for its predecessor's state after its start; ask while starting"
                .formatted(organ));
      }
    }

    /** Gives the state back to the predecessor, which continues. */
    void giveBack(String why) {
      OrganState back = owed.getAndSet(null); // null if none was taken, or it went back before
      if (back == null) {
        return;
      }
      log.warning("%s: its state goes back: %s", organ, why);
      giver.continueWith(
          back,
          () -> {
            long end = endOfReturn();
            giver.prepare(left(end));
            giver.resume(back, left(end));
          });
    }
  }

  private static long endOfReturn() {
    return System.nanoTime() + RETURN.toNanos();
  }

  /** Returns how long the next call of a return may take, of which each ends after an interrupt. */
  private Duration left(long end) {
    Duration left = Duration.ofNanos(end - System.nanoTime()).minus(InstanceCall.AFTER_INTERRUPT);
    if (left.isNegative()) {
      return Duration.ZERO;
    }
    return left.compareTo(patience) < 0 ? left : patience;
  }

  // ---- an instance goes

  private void leave(Seat<?> seat) {
    Withdrawal withdrawal = withdraw(seat);
    if (withdrawal instanceof Withdrawal.Repeated) {
      return;
    }
    try {
      if (withdrawal instanceof Withdrawal.Returning(Seat<?> heir)) {
        goOn(seat, heir);
      }
      seat.instance.close(reason.get());
    } finally {
      endClosing(seat);
    }
  }

  private void goOn(Seat<?> seat, Seat<?> heir) {
    try {
      returnState(seat, heir);
    } finally {
      endAsking(heir, false);
      endChange(seat.organ);
    }
  }

  /** Notes that an instance decides nothing any more: it is closed, or its state is elsewhere. */
  private void endClosing(Seat<?> seat) {
    lock.lock();
    try {
      lines.get(seat.organ).closing.remove(seat);
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private static boolean returnsState(Line line, Seat<?> seat) {
    return line.incumbent == seat && line.seats.size() > 1;
  }

  /** Says how an instance left. */
  private sealed interface Withdrawal {

    /** It had left before. */
    record Repeated() implements Withdrawal {}

    /** No instance gets its state. */
    record Plain() implements Withdrawal {}

    /** Its state has to go back to this one. */
    record Returning(Seat<?> heir) implements Withdrawal {}
  }

  /**
   * Removes an instance, which is closing from now on. Waits until no other thread asks it for its
   * state or gives one back to it. If the instance has to give the state back, waits also until no
   * other change of its organ is under way.
   */
  private Withdrawal withdraw(Seat<?> seat) {
    lock.lock();
    try {
      Line line = lines.get(seat.organ);
      if (!await(() -> !seat.busy && !(line.changing && returnsState(line, seat)), TURN)) {
        log.error("%s: an instance leaves during a hand-over; it does not wait", seat.organ);
      }
      if (!line.seats.remove(seat)) {
        return new Withdrawal.Repeated();
      }
      if (!seat.gave) {
        line.closing.add(seat);
      }
      changed.signalAll();
      return line.incumbent == seat ? succeed(line) : new Withdrawal.Plain();
    } finally {
      lock.unlock();
    }
  }

  /** Puts another instance in charge, if there is one. */
  private static Withdrawal succeed(Line line) {
    if (line.seats.isEmpty()) {
      line.incumbent = null;
      return new Withdrawal.Plain();
    }
    line.incumbent = line.seats.getLast();
    if (!line.incumbent.gave) {
      return new Withdrawal.Plain();
    }
    line.incumbent.busy = true;
    line.changing = true;
    return new Withdrawal.Returning(line.incumbent);
  }

  private void returnState(Seat<?> from, Seat<?> to) {
    long end = endOfReturn();
    to.prepare(left(end));
    OrganState state = OrganState.NONE;
    try {
      state = from.give(left(end));
      endClosing(from);
    } catch (RuntimeException | Error failed) {
      log.error("%s: it starts without state: %s", from.organ, InstanceCall.text(failed));
    }
    to.resume(state, left(end));
    announce(listener -> listener.resumes(from.organ));
    log.info("%s: the previous instance continues, with %s", from.organ, state);
  }

  /** Holds an instance and calls it, each time on a thread of its own and for a limited time. */
  private final class Seat<I extends OrganInstance> implements Membership<I> {
    private final String organ;
    private final I instance;
    private final Object owner;
    // Guarded by lock.
    private boolean gave;
    private boolean busy; // asked for its state, or given one back: it does not leave meanwhile

    private InstanceCall last = InstanceCall.none(); // for the thread that changes the organ

    Seat(String organ, I instance) {
      this.organ = organ;
      this.instance = instance;
      this.owner = HandOverTable.this.owner.apply(instance);
    }

    @Override
    public I instance() {
      return instance;
    }

    @Override
    public void leave() {
      HandOverTable.this.leave(this);
    }

    OrganState facts() {
      return call(InstanceCall.Request.TELL, instance::facts).within(patience);
    }

    OrganState give() {
      return give(patience);
    }

    OrganState give(Duration within) {
      return call(
              InstanceCall.Request.GIVE,
              () -> {
                OrganState given = instance.give();
                try {
                  given.requireForeignTypes(organ, instance);
                } catch (Throwable unusable) {
                  // Whatever a value does when it is looked at: this instance has stopped deciding.
                  keep(given);
                  throw unusable;
                }
                return given;
              })
          .orLate(this::tooLate)
          .within(within);
    }

    private void tooLate(OrganState state) {
      log.warning("%s: the state was given too late; the instance keeps it and continues", organ);
      keep(state);
    }

    /** Returns the state to the instance that gave it, on the thread that it was given on. */
    private void keep(OrganState state) {
      continueWith(
          state,
          () -> {
            instance.prepare();
            instance.resume(state);
          });
    }

    /** Lets the instance decide again; if it has left, closes the state. */
    void continueWith(OrganState state, Runnable resume) {
      if (!beginAsking(this)) {
        log.error("%s: no instance is left to take the state back; it is given up", organ);
        state.close(trouble -> log.warning("%s: %s", organ, trouble));
        return;
      }
      try {
        resume.run();
      } finally {
        endAsking(this, false);
      }
      announce(listener -> listener.resumes(organ));
    }

    void prepare(Duration within) {
      tolerate(InstanceCall.Request.PREPARE, instance::prepare, within);
    }

    void resume(OrganState state, Duration within) {
      tolerate(InstanceCall.Request.RESUME, () -> instance.resume(state), within);
    }

    /**
     * Calls an instance that must continue even if the call fails: failures are logged. An instance
     * that is still busy with an earlier call gets this one after it, however long that takes.
     */
    private void tolerate(InstanceCall.Request request, Runnable step, Duration within) {
      InstanceCall before = last;
      last =
          new InstanceCall(
              organ,
              request,
              () -> {
                before.awaitEnd();
                step.run();
                return OrganState.NONE;
              });
      try {
        last.within(within);
      } catch (HandOverException failed) {
        log.error("%s: %s", organ, failed.getMessage(), failed);
      }
    }

    /** Prepares a call, unless the instance is busy: it is called by one thread at a time. */
    private InstanceCall call(InstanceCall.Request request, InstanceCall.Step step) {
      if (last.isRunning()) {
        throw new HandOverException(
            "the instance of %s that runs is still busy: %s. If it hangs, stop it before the new one is started"
                .formatted(organ, last));
      }
      last = new InstanceCall(organ, request, step);
      return last;
    }
  }
}
