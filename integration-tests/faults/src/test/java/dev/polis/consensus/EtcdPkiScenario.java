package dev.polis.consensus;

import dev.polis.files.layout.Root;
import dev.polis.fixtures.power.PowerScenario;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.List;

/** Makes etcd's authority and the operator's certificate before etcd has data. */
final class EtcdPkiScenario implements PowerScenario {

  @Override
  public List<Step> steps() {
    return List.of(root -> open(root, true), root -> open(root, false).ensureOperator());
  }

  private static ConsensusPki open(Path root, boolean mayCreate) throws Exception {
    return ConsensusPki.open(new ConsensusFiles(Root.at(root)), mayCreate, InstantSource.system());
  }

  @Override
  public String observe(Path root) throws Exception {
    ConsensusFiles files = new ConsensusFiles(Root.at(root));
    if (!files.ca().exists()) {
      return "none";
    }
    boolean operator = files.root().exists() && files.rootKey().exists();
    return open(root, false).token() + (operator ? " and an operator" : "");
  }
}
