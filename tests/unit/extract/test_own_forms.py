"""Forms that one framework or family has of its own; and lines that look like them and say something else."""

# ruff: noqa: E501  # a line of a log is as long as it is

from __future__ import annotations

import pytest

from tests.unit.extract.helpers import triples

# (what is shown, text, points as line, name, value, step, epoch)
READ: list[tuple[str, str, list[tuple[object, ...]]]] = [
    (
        "WeNet, epoch and batch",
        "2023-01-30 18:47:07,107 DEBUG CV Batch 4/300 loss 0.5 loss_ctc 0.25 history loss 0.75 rank 0",
        [(1, "loss", 0.5, 300, 4), (1, "loss_ctc", 0.25, 300, 4), (1, "history loss", 0.75, 300, 4)],
    ),
    ("batch and how many there are", "Batch 4/300 loss 0.5", [(1, "loss", 0.5, 4, None)]),
    (
        "Kaldi, minibatches",
        "LOG (nnet3-train[5.5.1~2-a4b]:PrintStatsForThisPhase():nnet-training.cc:121) Average objective function for 'output' for minibatches 40-49 is -0.5 over 640 frames.",
        [(1, "Average objective function", -0.5, 49, None)],
    ),
    (
        "Kaldi, two outputs",
        "LOG (a-b:F():a.cc:7) Overall average objective function for 'output' is -0.5 + -0.25 = -0.75 over 640.5 frames.\n"
        "LOG (a-b:F():a.cc:7) Overall average objective function for 'output-2' is -1.5 over 640.5 frames.",
        [(1, "Overall average objective function", -0.75, None, None), (2, "Overall average objective function for 'output-2'", -1.5, None, None)],
    ),
    (
        "Kaldi, a probability",
        "LOG (a-b:F():a.cc:7) Overall log-probability for 'output' is -nan per frame, over 2000 frames.\n[parsed by a script:] log-prob-per-frame=-0.5",
        [(1, "Overall log-probability", "NaN", None, None), (2, "log-prob-per-frame", -0.5, None, None)],
    ),
    (
        "groups in brackets",
        "INFO [train.py:756] Epoch 2, batch 50, loss[loss=0.5, ctc_loss=0.25, over 2494.00 frames.], tot_loss[loss=0.75, ctc_loss=1.5, over 4913.84 frames.], lr: 3.00e-03",
        [
            (1, "loss", 0.5, 50, 2), (1, "ctc_loss", 0.25, 50, 2), (1, "tot_loss/loss", 0.75, 50, 2),
            (1, "tot_loss/ctc_loss", 1.5, 50, 2), (1, "lr", 0.003, 50, 2),
        ],
    ),
    (
        "digits in a group's name",
        "step 3 loss1[loss=0.5] loss2[loss=0.25]\nstep 4 loss1[loss=0.5] loss3[loss=0.25]",
        [(1, "loss", 0.5, 3, None), (1, "loss2/loss", 0.25, 3, None), (2, "loss", 0.5, 4, None), (2, "loss3/loss", 0.25, 4, None)],
    ),
    (
        "share before what it is of",
        "2020-01-31 16:17:44,072 INFO [train.py:102] Process 100/400(25.0%) average objf: -0.5 over 640.0 frames, epoch 2",
        [(1, "average objf", -0.5, 100, 2)],
    ),
    (
        "Darknet, a layer",
        "Region 82 Avg IOU: 0.5, Class: 0.25, Obj: -nan, No Obj: 0.125, .5R: 1.0, .75R: 0.75,  count: 5",
        [
            (1, "Avg IOU", 0.5, None, None), (1, "Class", 0.25, None, None), (1, "Obj", "NaN", None, None),
            (1, "No Obj", 0.125, None, None), (1, ".5R", 1.0, None, None), (1, ".75R", 0.75, None, None),
        ],
    ),
    ("pace first in a bracket", "Step 7     [2.500 sec/step, loss=0.5]", [(1, "sec/step", 2.5, 7, None), (1, "loss", 0.5, 7, None)]),
    ("epoch of a counter", "77/90 in 2 epoch finished at 10:00 with loss: 0.5", [(1, "loss", 0.5, 77, 2)]),
    ("how many epochs there were", "Finished in 3 epochs with loss: 0.5", [(1, "loss", 0.5, None, None)]),
    (
        "AllenNLP, columns of splits",
        "2020-02-10 13:11:36,301 - INFO - a.b -          Training |  Validation\n2020-02-10 13:11:36,302 - INFO - a.b - accuracy   |     0.5   |     0.25\n"
        "2020-02-10 13:11:36,302 - INFO - a.b - gpu_0_memory_MB |  1035.0 |  N/A\n2020-02-10 13:11:36,302 - INFO - a.b - top2_loss  |     1.5   |     N/A",
        [(2, "Training accuracy", 0.5, None, None), (2, "Validation accuracy", 0.25, None, None), (4, "Training top2_loss", 1.5, None, None)],
    ),
    ("pairs behind a list", "Losses: [0.5, 1.5], step: 7, lr: 0.25", [(1, "Losses", 0.5, 7, None), (1, "lr", 0.25, 7, None)]),
    ("sum of a loss", "[batch=7/90]: \n\t Train loss/train/total: 0.5", [(2, "Train loss/train/total", 0.5, 7, None)]),
    ("aside in a name", "Training loss (for one batch) at step 7: 0.5", [(1, "Training loss (for one batch)", 0.5, 7, None)]),
    (
        "AutoGluon, values first",
        "\t0.75\t = Validation score   (accuracy)\n\t2.5s\t = Training   runtime",
        [(1, "Validation score (accuracy)", 0.75, None, None), (2, "Training runtime", 2.5, None, None)],
    ),
    ("what a value was counted from", "Epoch [2/5], acc: 0.75 (75/100)", [(1, "acc", 0.75, None, 2)]),
    ("counter before brackets", "30 [D loss: 0.5, acc.: 50.00%] [G loss: 1.5]", [(1, "D loss", 0.5, 30, None), (1, "acc", 50, 30, None), (1, "G loss", 1.5, 30, None)]),
    ("measured over an epoch", "Training acc over epoch: 0.75\nval acc: 0.5", [(1, "Training acc over epoch", 0.75, None, None), (2, "val acc", 0.5, None, None)]),
    ("counted inside a sentence", "total reward after 70 steps is 12.5 +/- 3.5", [(1, "total reward", 12.5, 70, None)]),
    ("out of how many", "Epoch 2 completed out of 10 loss: 1.5", [(1, "loss", 1.5, None, 2)]),
    (
        "TD3, an evaluation",
        "Total T: 1000 Episode Num: 5 Episode T: 200 Reward: 12.5\n---\nEvaluation over 10 episodes: 13.5",
        [(1, "Reward", 12.5, 1000, None), (3, "Evaluation over 10 episodes", 13.5, 1000, None)],
    ),
    ("length of an episode", "Eval num_timesteps=900, reward=0.5 +/- 0.1\nEpisode length: 150.00 +/- 5.00", [(1, "reward", 0.5, 900, None), (2, "Episode length", 150, 900, None)]),
    ("mark in a row", "  epoch    train_loss    cp     dur\n-------  ------------  ----  ------\n      1        0.5       +    0.25", [(3, "train_loss", 0.5, None, 1), (3, "dur", 0.25, None, 1)]),
    ("counted first, no comma", "After 4 epochs training loss = 0.5", [(1, "training loss", 0.5, None, 4)]),
    ("number of a part", "  eval: bucket 0 perplexity 6.5\nFold 3 accuracy: 0.5\nFold 1 Epoch 3 loss 0.25", [(1, "bucket 0 perplexity", 6.5, None, None), (2, "Fold 3 accuracy", 0.5, None, None), (3, "loss", 0.25, None, 3)]),
    ("number of many", "Game 10, average reward 12.5\nSample 7 loss: 0.5", [(1, "average reward", 12.5, None, None), (2, "loss", 0.5, None, None)]),
    ("iterations cut short", "ep 3/10 it 7/90 loss 0.5", [(1, "loss", 0.5, 7, 3)]),
    ("clock before a counter", "[17:00:00] src/learner.cc:12: [7]\ttest-error:0.5\n[17:00:01] [8]\ttest-error:0.25", [(1, "test-error", 0.5, 7, None), (2, "test-error", 0.25, 8, None)]),
    (
        "Swin Transformer's prefix",
        "[2024-01-01 10:00:00 swin_t] (main.py 123): INFO Train: [3/30][10/90]\tlr 0.125\tloss 0.5 (0.75)\n[2024-01-01 10:00:01 swin_t] (main.py 124): INFO Accuracy of the network: 75.5%",
        [(1, "lr", 0.125, 10, 3), (1, "loss", 0.5, 10, 3), (2, "Accuracy of the network", 75.5, 10, 3)],
    ),
    ("level of a writer that is named first", "trainer-0 | 2024-01-01 10:00:00 INFO Test accuracy: 0.5", [(1, "Test accuracy", 0.5, None, None)]),
    (
        "MATLAB, a header over two lines",
        "|=====|\n|  Epoch  |  Iteration  |  Time Elapsed  |  Mini-batch  |  Mini-batch  |\n|         |             |   (hh:mm:ss)   |   Accuracy   |     Loss     |\n|=====|\n"
        "|       1 |          10 |       00:00:01 |       50.00% |       0.7500 |",
        [(5, "Mini-batch Accuracy", 50, 10, 1), (5, "Mini-batch Loss", 0.75, 10, 1)],
    ),
    ("R", "iter   10 value 0.5\nfinal  value 0.25", [(1, "value", 0.5, 10, None)]),
    (
        "ranges in names",
        "AP@0.50:0.95 = 0.5, AP@0.50 = 0.75, mAP@[.5:.95]: 0.25\nmAP@.5:.95 0.125",
        [(1, "AP@0.50:0.95", 0.5, None, None), (1, "AP@0.50", 0.75, None, None), (1, "mAP@[.5:.95]", 0.25, None, None), (2, "mAP@.5:.95", 0.125, None, None)],
    ),
    ("values behind a cut-off", "HR@10:0.5 mAP@0.5:0.75 loss: 1.5", [(1, "HR@10", 0.5, None, None), (1, "mAP@0.5", 0.75, None, None), (1, "loss", 1.5, None, None)]),
    ("no counter in brackets", "iter 3 loss: 0.5\n\tfg/bg=(20/1004), time cost: 1.5", [(1, "loss", 0.5, 3, None), (2, "time cost", 1.5, 3, None)]),
    (
        "a header behind a number sign",
        "#  step      rmse_val    lr\n# If there is no data, rmse_*_{val,trn} will print nan\n1492000      6.5e-01    1.5e-08",
        [(3, "rmse_val", 0.65, 1492000, None), (3, "lr", 1.5e-8, 1492000, None)],
    ),
    (
        "another split than the training's",
        "Epoch 3 loss: 0.5\nDEV  : loss 0.25 - acc 0.75\n[ITER 7] Evaluating test: L1 0.5\neval dev: perplexity 6.5",
        [(1, "loss", 0.5, None, 3), (2, "DEV loss", 0.25, None, 3), (2, "DEV acc", 0.75, None, 3), (3, "test L1", 0.5, 7, 3), (4, "eval dev perplexity", 6.5, 7, 3)],
    ),
    ("a split in another script", "Test: 损失: 0.5 loss: 0.25", [(1, "Test loss", 0.25, None, None)]),
    ("the training's own split", "Train: loss=0.5 acc=0.75\nTrain: 70 loss=0.5", [(1, "loss", 0.5, None, None), (1, "acc", 0.75, None, None), (2, "loss", 0.5, None, None)]),
    ("a name that begins with a digit", "     0_f_rmse =  0.5\n   all_f_rmse =  0.25", [(1, "0_f_rmse", 0.5, None, None), (2, "all_f_rmse", 0.25, None, None)]),
    ("fraction of all epochs", "Iter: 1/78   Jobs: 3   Epoch: 0.25/6.0 (0.5% complete)   lr: 0.125", [(1, "lr", 0.125, 1, 0.25)]),
    ("bar of mmcv", "[>>>>>>] 50/50, 163.1 task/s, elapsed: 0s, ETA:     0s\nEpoch(val) [1][2]\tacc: 22.5", [(2, "acc", 22.5, None, 1)]),
    (
        "settings, a member a line",
        "{'fea_len': 64,\n 'epoch': 300.0,\n 'learning_rate': 0.001,\n 'ylabel': 'Predicted'}\nloss: 0.5",
        [(5, "loss", 0.5, None, None)],
    ),
    ("metrics, a member a line", "{'acc': 0.75,\n 'loss': 0.5}", [(1, "acc", 0.75, None, None), (2, "loss", 0.5, None, None)]),
    (
        "srun --label",
        "3: 2020-05-08 18:56:16,649 - mmdet - INFO - Epoch [1][70/90]\tlr: 0.25, loss: 0.5\n0: 2020-05-08 18:56:17,649 - mmdet - INFO - acc: 0.75",
        [(1, "lr", 0.25, 70, 1), (1, "loss", 0.5, 70, 1), (2, "acc", 0.75, None, None)],
    ),
    (
        "steps before episodes",
        " 700/9000: episode: 9, episode steps: 13, episode reward: 13.000, mean reward: 1.000 [1.000, 1.000], loss: 0.5",
        [(1, "episode reward", 13, 700, None), (1, "mean reward", 1, 700, None), (1, "loss", 0.5, 700, None)],
    ),
    ("no number behind a gap", "step   11/74 | loss     nan (+nanz)| norm    nan (+nanz)| lr 3.00e-04", [(1, "loss", "NaN", 11, None), (1, "norm", "NaN", 11, None), (1, "lr", 0.0003, 11, None)]),
    ("letters as columns", "LOSS \t  P  \t  R  \t  F  \n184.5\t0.5\t1.000\t0.75", [(2, "LOSS", 184.5, None, None), (2, "P", 0.5, None, None), (2, "R", 1, None, None), (2, "F", 0.75, None, None)]),
    (
        "rows of splits",
        "│ rating   │   loss │   accuracy │\n│ train    │ 1.5 │     0.5 │\n│ vali     │ 1.25 │     0.25 │",
        [(2, "train loss", 1.5, None, None), (2, "train accuracy", 0.5, None, None), (3, "vali loss", 1.25, None, None), (3, "vali accuracy", 0.25, None, None)],
    ),
    ("Lightning, what was reached", "Epoch 2, global step 70: 'val_auc' reached 0.5 (best 0.25), saving model to '/x/epoch=2-step=70.ckpt' as top 3", [(1, "val_auc", 0.5, 70, 2)]),
    ("who says it", "12: Epoch 3: loss 0.5\n 3: {'loss': 0.25}\n(0/3) acc: 0.5", [(1, "loss", 0.5, None, 3), (2, "loss", 0.25, None, 3), (3, "acc", 0.5, None, 3)]),
    ("short form in a name", "Steps : 70, Mel-Spec. Error : 0.5", [(1, "Mel-Spec. Error", 0.5, 70, None)]),
    ("start of an epoch", "Start of epoch: 3\nval acc: 0.5", [(2, "val acc", 0.5, None, 3)]),
    ("what counts between bars", "| epoch 3 | loss 0.5 | wall 4634 | Client 3 | clip 1%", [(1, "loss", 0.5, None, 3), (1, "clip", 1.0, None, 3)]),
    (
        "behind a fence of Markdown",
        "  ``` Epoch    GPU_mem   box_loss\n      0/4      10.2G     0.5",
        [(2, "box_loss", 0.5, None, 0)],
    ),
]  # fmt: skip

NONE = {
    "how many epochs it took": "Converged in 3 epochs",
    "length in a configuration": "episode_length: 150",
    "best checkpoint": "Best ckpt, val loss 0.17 @ epoch1269 with seed 0",
    "times of parts": "Speed: 0.5ms preprocess, 8.5ms inference, 0.1ms postprocess per image at shape (1, 3, 64, 64)",
    "limit of a norm": "    grad_norm_clip: 1.0",
    "tensor of several": "weights_entropy = tensor([1.5, 2.25, 1.75], device='cuda:0'), covar=tensor([0.5, 0.25])",
    "settings of a booster": "depth=8, min_child_weight=22, subsample=0.19, colsample_bytree=0.82, base_score=0.08",
    "value in a sentence": "0.5 loss at step 100",
    "value first, of no metric": "   12.5 = Validation cost (cents)",
    "what was loaded": "Loaded: 0.000071 seconds",
    "pace alone": "[2.5 sec/step]",
    "Kaldi, how much was seen": "LOG (nnet3-train[5.5]:main():nnet3-train.cc:86) Wrote model to exp/7.raw",
}


@pytest.mark.parametrize(("text", "points"), [row[1:] for row in READ], ids=[row[0] for row in READ])
def test_points(text: str, points: list[tuple[object, ...]]) -> None:
    assert triples(text) == points


@pytest.mark.parametrize("text", NONE.values(), ids=NONE.keys())
@pytest.mark.parametrize("before", ["", "step 3 loss: 0.5\n"], ids=["at first", "in training"])
def test_none(text: str, before: str) -> None:
    assert triples(before + text)[int(bool(before)) :] == []
