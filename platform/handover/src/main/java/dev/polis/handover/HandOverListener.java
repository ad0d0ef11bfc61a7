package dev.polis.handover;

import org.osgi.annotation.versioning.ConsumerType;

/**
 * Learns that the state of an organ is on its way from one instance to another, so that calls can
 * wait meanwhile: the one has stopped deciding, and the other has not begun. A bundle of the
 * platform registers it as a service.
 *
 * <p>Both methods return at once; what they throw is logged and ends nothing.
 */
@ConsumerType
public interface HandOverListener {

  /**
   * Says that the instance in charge is asked for its state next.
   *
   * @param organ the organ's name; called by the thread that starts the second instance, from
   *     within its activation
   */
  void gives(String organ);

  /**
   * Says that an instance that was asked for its state decides again: it did not give it, or it has
   * it back.
   *
   * @param organ the organ's name
   */
  void resumes(String organ);
}
