"""What lines of many frameworks give. The lines are made here, in the shapes that the frameworks print."""

# ruff: noqa: E501  # a line of a log is as long as it is

from __future__ import annotations

import pytest

from tests.unit.extract.helpers import triples

# (what prints it, text, points as line, name, value, step, epoch)
FORMS: list[tuple[str, str, list[tuple[object, ...]]]] = [
    ("json", '{"loss": 0.5, "lr": 1e-4, "step": 7, "epoch": 0.25}', [(1, "loss", 0.5, 7, 0.25), (1, "lr", 1e-4, 7, 0.25)]),
    ("json, nested", '{"step": 3, "train": {"loss": 0.5}}', [(1, "train/loss", 0.5, 3, None)]),
    ("json, digits in a nested name", '{"step": 3, "top": {"acc5": 0.5}}', [(1, "top/acc5", 0.5, 3, None)]),
    ("Trainer", "{'loss': 0.5, 'grad_norm': nan, 'epoch': 0.1}", [(1, "loss", 0.5, None, 0.1), (1, "grad_norm", "NaN", None, 0.1)]),
    ("Trainer, quoted numbers", "{'loss': '0.5', 'epoch': '1'}", [(1, "loss", 0.5, None, 1)]),
    ("Trainer behind a bar", "10% 1/10 [00:01<00:09, 1.0it/s]{'mrr': np.float64(0.25)}", [(1, "mrr", 0.25, None, None)]),
    ("tensors", "epoch=4: ppl=tensor(1.5, device='cuda:0') loss=tensor(0.5)", [(1, "ppl", 1.5, None, 4), (1, "loss", 0.5, None, 4)]),
    ("tutorial", "[2,  2000] loss: 1.5", [(1, "loss", 1.5, 2000, 2)]),
    ("tutorial", "Epoch [2/10], Step [100/600], Loss: 0.5", [(1, "Loss", 0.5, 100, 2)]),
    ("mnist example", "Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.25", [(1, "Loss", 2.25, 640, 1)]),
    (
        "imagenet example",
        "Epoch: [3][ 10/5005]\tTime  0.5 ( 0.75)\tLoss 6.5e+00 (7.0e+00)\tAcc@1   1.25 (  0.5)",
        [(1, "Time", 0.5, 10, 3), (1, "Loss", 6.5, 10, 3), (1, "Acc@1", 1.25, 10, 3)],
    ),
    ("Keras", "Epoch 3/10\n5/5 [=====] - 2s 1ms/step - loss: 0.5 - acc: 0.75", [(2, "loss", 0.5, None, 3), (2, "acc", 0.75, None, 3)]),
    ("Keras 3", "Epoch 1/2\n5/5 ━━━━━━━━━━ 2s 1ms/step - loss: 0.5", [(2, "loss", 0.5, None, 1)]),
    ("Keras, verbose 2", "5/5 - 2s - loss: 0.5 - 2s/epoch - 1ms/step", [(1, "loss", 0.5, None, None)]),
    (
        "Lightning",
        "Epoch 2:  45%|████▌     | 45/100 [00:10<00:12,  4.50it/s, v_num=3, train_loss=0.5]",
        [(1, "train_loss", 0.5, 45, 2)],
    ),
    ("Lightning, rich", "Epoch 1/9 ━━━━━━━━━ 18/18 0:00:14 • 0:00:00 128.51it/s v_num: 0.000 train_loss: 0.5", [(1, "train_loss", 0.5, None, 1)]),
    ("Lightning, results", "┃ Test metric ┃ DataLoader 0 ┃\n│  test_loss  │ 0.5 │", [(2, "test_loss", 0.5, None, None)]),
    ("CSV", "epoch,step,train_loss\n0,3,2.5\n1,7,1.5", [(2, "train_loss", 2.5, 3, 0), (3, "train_loss", 1.5, 7, 1)]),
    ("CSV, padded", "   epoch,   top/acc_0.5\n       0,     0.25", [(2, "top/acc_0.5", 0.25, None, 0)]),
    ("aligned", "epoch   main/loss  acc\n1       0.5        0.25", [(2, "main/loss", 0.5, None, 1), (2, "acc", 0.25, None, 1)]),
    ("aligned, missing cell", "epoch  train_loss  valid_loss  time\n0      #na#        0.5         58:40", [(2, "valid_loss", 0.5, None, 0)]),
    (
        "spaCy",
        "E    #     LOSS TAGGER   SCORE\n---  ----  -----------   -----\n  0   200      18968.5    0.25",
        [(3, "LOSS TAGGER", 18968.5, 200, 0), (3, "SCORE", 0.25, 200, 0)],
    ),
    (
        "YOLO",
        "      Epoch    GPU_mem   box_loss       Size\n        1/2      3.91G     0.0625        640: 100% 8/8 [00:09<00:00,  1.17s/it]\n"
        "                 Class     Images          P     mAP50-95: 100% 4/4 [00:01<00:00,  2.01it/s]\n"
        "                   all        128      0.625         0.25\n                person        128       0.75         0.50",
        [(2, "box_loss", 0.0625, None, 1), (4, "P", 0.625, None, 1), (4, "mAP50-95", 0.25, None, 1)],
    ),
    (
        "box",
        "-----\n| time/           |     |\n|    total_timesteps | 2048 |\n| train/          |     |\n|    loss         | 0.5 |\n-----",
        [(5, "train/loss", 0.5, 2048, None)],
    ),
    (
        "trials",
        "| Trial name | status  | loc       |   iter |   reward |\n|---+---+---+---+---|\n| PPO_a      | RUNNING | 10.0.0.1:4 |     42 |    -61.5 |",
        [(3, "reward", -61.5, 42, None)],
    ),
    ("fairseq", "| epoch 027 | loss 1.25 | num_updates 3726 | clip 0%", [(1, "loss", 1.25, 3726, 27), (1, "clip", 0.0, 3726, 27)]),
    (
        "Megatron",
        " iteration        2/    1000 | elapsed time per iteration (ms): 12.5 | learning rate: 3.750E-05 | lm loss: 1.25E+01 |",
        [(1, "elapsed time per iteration (ms)", 12.5, 2, None), (1, "learning rate", 3.75e-5, 2, None), (1, "lm loss", 12.5, 2, None)],
    ),
    ("DeepSpeed", "[2023-04-18 01:46:59,142] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, lr=[1e-06, 1e-06], mom=[(0.9, 0.95)]", [(1, "lr", 1e-6, 10, None)]),
    ("DeepSpeed timer", "epoch=0/micro_step=10/global_step=5, CurrSamplesPerSec=171.5, MemAllocated=3.96GB", [(1, "CurrSamplesPerSec", 171.5, 5, 0)]),
    ("Marian", "[2022-10-21 17:34:33] Ep. 62 : Up. 94500 : Cost 0.75 * 1,280,045 @ 2,532 : 151075.5 words/s : L.r. 1.25e-04",
     [(1, "Cost", 0.75, 94500, 62), (1, "words/s", 151075.5, 94500, 62), (1, "L.r", 1.25e-4, 94500, 62)]),
    ("Sockeye", "[INFO:a.b] Epoch[0] Batch [50]\tSpeed: 429.5 samples/sec 10879.0 tokens/sec\tperplexity=20.5",
     [(1, "samples/sec", 429.5, 50, 0), (1, "tokens/sec", 10879.0, 50, 0), (1, "perplexity", 20.5, 50, 0)]),
    ("XGBoost", "[7] dtrain-rmse:1.375  dtest-rmse:1.25", [(1, "dtrain-rmse", 1.375, 7, None), (1, "dtest-rmse", 1.25, 7, None)]),
    ("XGBoost, cv", "[7]\ttrain-rmse:0.5+0.01\ttest-rmse:0.75+0.02", [(1, "train-rmse", 0.5, 7, None), (1, "test-rmse", 0.75, 7, None)]),
    ("LightGBM", "[10]\ttraining's l1: 0.5\tvalid_1's l2: 0.25", [(1, "training's l1", 0.5, 10, None), (1, "valid_1's l2", 0.25, 10, None)]),
    ("CatBoost", "50:\tlearn: 0.5\ttest: 0.25\tbest: 0.25 (50)\ttotal: 135ms\tremaining: 1.19s", [(1, "learn", 0.5, 50, None), (1, "test", 0.25, 50, None)]),
    ("Caffe", "I0224 00:32:03.9   655 solver.cpp:229] Iteration 1000, loss = 0.5\nI0224 00:32:03.9   655 solver.cpp:245]     Train net output #1: loss = 0.25 (* 1 = 0.25 loss)",
     [(1, "loss", 0.5, 1000, None), (2, "Train loss", 0.25, 1000, None)]),
    ("mmengine", "05/15 03:33:41 - mmengine - INFO - Epoch(train)  [1][15/30]  lr: 7.5e-05  eta: 0:00:31  top1_acc: 0.5",
     [(1, "lr", 7.5e-5, 15, 1), (1, "top1_acc", 0.5, 15, 1)]),
    ("mmengine, validation", "Epoch(val) [2][5/5]    acc/top1: 0.5", [(1, "acc/top1", 0.5, None, 2)]),
    ("timm", "Train: 0 [  50/73 ( 70%)]  Loss: 6.75 (6.5)  Time: 0.5s,  400.25/s  (0.47s,  272.39/s)  LR: 1e-05",
     [(1, "Loss", 6.75, 50, 0), (1, "Time", 0.5, 50, 0), (1, "/s", 400.25, 50, 0), (1, "LR", 1e-5, 50, 0)]),
    ("torchtitan", "[rank0]:[titan] 2025-05-11 20:14:05,871 - root - INFO - step: 300  loss:  5.75  memory: 47.12GiB(49.61%)  tps: 5,734  mfu: 33.5%",
     [(1, "loss", 5.75, 300, None), (1, "tps", 5734.0, 300, None), (1, "mfu", 33.5, 300, None)]),
    ("torchtune", "1|52|Loss: 2.375:   0%|▏       | 52/25880 [00:24<3:55:01,  1.83it/s]", [(1, "Loss", 2.375, 52, 1)]),
    ("ESPnet", "[h1] 2023-04-23 18:59:48,924 (trainer:777) INFO: 2epoch:train:1-50batch:50num_updates: iter_time=0.5, acc=0.25",
     [(1, "iter_time", 0.5, 50, 2), (1, "acc", 0.25, 50, 2)]),
    ("verl", "step:3 - actor/pg_loss:-0.005 - critic/lr(1e-4):0.125", [(1, "actor/pg_loss", -0.005, 3, None), (1, "critic/lr(1e-4)", 0.125, 3, None)]),
    ("Horovod", "[1,1]<stdout>:Epoch 2/50, Batch 11/8124\n[1,0]<stdout>:Total loss is  1.5 ETA is  5:12:40.118233\n[1,1]<stdout>:Total loss is  2.5 ETA is  5:12:44.702115",
     [(2, "Total loss", 1.5, None, None), (3, "Total loss", 2.5, 11, 2)]),
    ("metrics block", "***** train metrics *****\n  epoch        =        3.0\n  train_loss   =     0.25\n  train_runtime = 0:07:27.14", [(3, "train_loss", 0.25, None, 3.0)]),
    ("flax", "test epoch: 1, loss: 0.5, accuracy: 97.5", [(1, "test loss", 0.5, None, 1), (1, "test accuracy", 97.5, None, 1)]),
    ("nanoGPT", "step 0: train loss 12.5 BPC, val loss 12.25 BPC", [(1, "train loss", 12.5, 0, None), (1, "val loss", 12.25, 0, None)]),
    ("OpenNMT", "[2021-06-01 10:00:00,123 INFO] Step 50/1000; acc:   3.5; ppl: 12345.5; lr: 0.00001; 5123/5456 tok/s;     20 sec",
     [(1, "acc", 3.5, 50, None), (1, "ppl", 12345.5, 50, None), (1, "lr", 1e-5, 50, None)]),
    ("PaddleOCR", "[2022/06/01 10:00:00] ppocr INFO: epoch: [1/500], global_step: 10, lr: 0.001000, loss: 28.5, ips: 250.5 samples/s, eta: 1:02:03",
     [(1, "lr", 0.001, 10, 1), (1, "loss", 28.5, 10, 1), (1, "ips", 250.5, 10, 1)]),
    ("clu", "I0516 10:00:00.000000 139 logging_writer.py:48] [100] accuracy=0.5, steps_per_second=12.5",
     [(1, "accuracy", 0.5, 100, None), (1, "steps_per_second", 12.5, 100, None)]),
    ("word language model", "| epoch   1 |   200/ 2983 batches | lr 20.00 | ms/batch 12.5 | loss  7.5 | ppl  2062.5",
     [(1, "lr", 20.0, 200, 1), (1, "ms/batch", 12.5, 200, 1), (1, "loss", 7.5, 200, 1), (1, "ppl", 2062.5, 200, 1)]),
    ("share in brackets", "Test set: Average loss: 0.25, Accuracy: 9913/10000 (99%)", [(1, "Average loss", 0.25, None, None), (1, "Accuracy", 99.0, None, None)]),
    ("a sentence", "Accuracy of the network on the 10000 test images: 55 %", [(1, "Accuracy of the network on the 10000 test images", 55.0, None, None)]),
    ("wandb summary", "wandb:     train/loss 0.25", [(1, "train/loss", 0.25, None, None)]),
    ("averages of a report", "              precision    recall\n           0       0.91      0.92\n   macro avg       0.75      0.5",
     [(3, "macro avg precision", 0.75, None, None), (3, "macro avg recall", 0.5, None, None)]),
    ("colours", "\x1b[1mstep 3\x1b[0m \x1b[32mloss\x1b[39m=0.5", [(1, "loss", 0.5, 3, None)]),
    ("a saved cursor", "\x1b7step 3 loss=0.5\x1b8 \x1b(Bacc=0.25\x1bc", [(1, "loss", 0.5, 3, None), (1, "acc", 0.25, 3, None)]),
    ("scikit-learn, clusters", "Iteration 3, inertia 2151959.0.", [(1, "inertia", 2151959.0, 3, None)]),
    ("scikit-learn, mixtures", "  Iteration 2\t time lapse 0.00155s\t ll change 0.09302", [(1, "ll change", 0.09302, 2, None)]),
    ("scikit-learn, mixtures' end", "Initialization converged. time lapse 0.06s\t lower bound -15.65", [(1, "lower bound", -15.65, None, None)]),
    ("scikit-learn, topics", "iteration: 1 of max_iter: 9, perplexity: 38.75", [(1, "perplexity", 38.75, 1, None)]),
    ("scikit-learn, t-SNE", "KL divergence after 250 iterations with early exaggeration: 50.25", [(1, "KL divergence", 50.25, 250, None)]),
    ("scipy, a minimum", "         Current function value: 0.470154", [(1, "Current function value", 0.470154, None, None)]),
    ("at so many", "P@1\t0.75\nNDCG@10: 0.5", [(1, "P@1", 0.75, None, None), (2, "NDCG@10", 0.5, None, None)]),
    ("NumPyro", "100%|███| 400/400 [00:07<00:00, 53.54it/s, init loss: 622.5, avg. loss [381-400]: 552.75]",
     [(1, "init loss", 622.5, 400, None), (1, "avg. loss", 552.75, 400, None)]),
    ("Lightning, a validation's bar", "Validation DataLoader 0:  62%|██▌ | 5/8 [00:00<00:00, 886.86it/s]", []),
    ("DeepXDE, lists in a table", "Step      Train loss    Test metric   \n50        [2.15e-01]    [9.52e-01]    ",
     [(2, "Train loss", 0.215, 50, None), (2, "Test metric", 0.952, 50, None)]),
    ("a report's support", "              precision    recall   support\n   macro avg       0.75      0.5        89",
     [(2, "macro avg precision", 0.75, None, None), (2, "macro avg recall", 0.5, None, None)]),
    ("flair, a result", "- F-score (micro) 0.8125", [(1, "F-score (micro)", 0.8125, None, None)]),
    ("folds", "                 Fold 1  Fold 2  Mean\nRMSE (testset)   1.25    1.5     1.375\nTest time        0.07    0.00    0.02",
     [(2, "RMSE (testset) Fold 1", 1.25, None, None), (2, "RMSE (testset) Fold 2", 1.5, None, None), (2, "RMSE (testset) Mean", 1.375, None, None)]),
    ("Vowpal Wabbit, a header over two lines",
     "average  since         example        example  current\nloss     last          counter         weight    label\n0.625    0.625               2            2.0   -0.75",
     [(3, "average loss", 0.625, 2, None), (3, "since last", 0.625, 2, None), (3, "example weight", 2.0, 2, None), (3, "current label", -0.75, 2, None)]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "points"), [form[1:] for form in FORMS], ids=[f"{i}-{form[0]}" for i, form in enumerate(FORMS)])
def test_form(text: str, points: list[tuple[object, ...]]) -> None:
    assert triples(text) == points


def test_names_that_training_makes_metrics() -> None:
    """A name that nobody knows is a metric once the training has begun, if its value is no whole number."""
    assert triples("zorp: 0.5") == []
    assert triples("epoch 1:\nzorp: 0.5\nseats: 4") == [(2, "zorp", 0.5, None, 1)]


# What a general reader takes from texts in which a counter stands where a value might.
COUNTED: list[tuple[str, str, list[tuple[object, ...]]]] = [
    ("step between name and value", "Train loss 640 0.5 Grad Norm 1.5", [(1, "Train loss", 0.5, 640, None), (1, "Grad Norm", 1.5, 640, None)]),
    ("step behind the name", "Validation loss 640:  0.25", [(1, "Validation loss", 0.25, 640, None)]),
    ("number of a name, where the line counts already", "Epoch 3: loss 1: 0.5", [(1, "loss 1", 0.5, None, 3)]),
    ("number of a cut-off", "recall 20: 0.25", [(1, "recall 20", 0.25, None, None)]),
    ("counter behind what it counts for", "Loss for epoch 3: 0.5", [(1, "Loss", 0.5, None, 3)]),
    ("counter behind what it counts for", "Train loss in epoch 3 is 0.5", [(1, "Train loss", 0.5, None, 3)]),
    ("range of steps", "Epoch[2] Batch [20-40]\tSpeed: 6.25 samples/sec\tLoss=8.5", [(1, "Speed", 6.25, 40, 2), (1, "Loss", 8.5, 40, 2)]),
    ("step of all and of the epoch", "Step: 2836. Epoch: 39/40. Iteration: 5/7. Reg loss: 0.5.", [(1, "Reg loss", 0.5, 2836, 39)]),
    ("share of the whole", "Process 100/400(25.0%) average loss: 0.5 over 640.0 frames", [(1, "average loss", 0.5, 100, None)]),
    ("rate of what", "Epoch  2,   50/  75; ppl:  11.5; 518 src tok/s; 5.5 tgt tok/s", [(1, "ppl", 11.5, 50, 2), (1, "src tok/s", 518, 50, 2), (1, "tgt tok/s", 5.5, 50, 2)]),
    ("columns without a sign", "tick 3     sec/kimg 12.5 upkeep 2.5   augment 0.125", [(1, "sec/kimg", 12.5, 3, None), (1, "upkeep", 2.5, 3, None), (1, "augment", 0.125, 3, None)]),
    ("Darknet", " 90: 1.5, 2.5 avg loss, 0.001 rate, 3.5 seconds, 57 images", [(1, "loss", 1.5, 90, None), (1, "avg loss", 2.5, 90, None), (1, "rate", 0.001, 90, None), (1, "seconds", 3.5, 90, None)]),
    ("unit of a name in brackets", "Epoch 003 | Time(s) 0.25 | Loss 1.5", [(1, "Time(s)", 0.25, None, 3), (1, "Loss", 1.5, None, 3)]),
    ("table without outer bars", "epoch | train_loss | valid_loss\n  1   |  0.5  |  0.25", [(2, "train_loss", 0.5, None, 1), (2, "valid_loss", 0.25, None, 1)]),
    ("column of a sum", "  Epoch   box   obj   total\n   1/9   0.5   0.25   0.75", [(2, "box", 0.5, None, 1), (2, "obj", 0.25, None, 1), (2, "total", 0.75, None, 1)]),
    ("column of a range", "  Class   P   mAP@.5   mAP@.5:.95\n   all   0.5   0.25   0.125", [(2, "P", 0.5, None, None), (2, "mAP@.5", 0.25, None, None), (2, "mAP@.5:.95", 0.125, None, None)]),
    ("cell with a unit", "epoch   loss   dur\n  1   0.5   0.75s", [(2, "loss", 0.5, None, 1), (2, "dur", 0.75, None, 1)]),
    ("value before a bar", "Epoch 3 loss 0.5:  45%|████▌     | 45/100 [00:10<00:12,  4.50it/s]", [(1, "loss", 0.5, 45, 3)]),
    ("list of tuples", "OrderedDict([('loss', 0.5), ('top1', 0.25)])", [(1, "loss", 0.5, None, None), (1, "top1", 0.25, None, None)]),
    ("range of steps and its share", "Epoch[ 2 of 5]-Minibatch[   1- 50, 10.00%]: Err = 0.25 * 800", [(1, "Err", 0.25, 50, 2)]),
    ("number sign", "Epoch #3: 100it [00:05, 20.2it/s, env_step=300, loss=0.5]", [(1, "loss", 0.5, 300, 3)]),
    ("printed words", "epoch 3 loss tensor(0.5, device='cuda:0')", [(1, "loss", 0.5, None, 3)]),
    ("epoch and step in brackets", "[3][100] G: 0.5 D: 0.25", [(1, "G", 0.5, 100, 3), (1, "D", 0.25, 100, 3)]),
    ("counter as a text", "{'loss': 0.5, 'epoch': 0.25, 'global_step/max_steps': '12/94'}", [(1, "loss", 0.5, 12, 0.25)]),
    ("table with single blanks", "epoch train_loss valid_loss time\n0 0.5 0.25 00:10", [(2, "train_loss", 0.5, None, 0), (2, "valid_loss", 0.25, None, 0)]),
    ("two splits in a line", "Epoch 3 Train: loss=0.5 acc=0.75 Valid: loss=0.25 acc=1.0", [(1, "Train loss", 0.5, None, 3), (1, "Train acc", 0.75, None, 3), (1, "Valid loss", 0.25, None, 3), (1, "Valid acc", 1.0, None, 3)]),
    ("what an epoch ended with", "Finished epoch 3 with loss 0.5", [(1, "loss", 0.5, None, 3)]),
    ("counter in a name's brackets", "Average loss (epoch 3): 0.5", [(1, "Average loss", 0.5, None, 3)]),
    ("unit behind a blank", "epoch 3, loss 0.5, time 1.5 sec", [(1, "loss", 0.5, None, 3), (1, "time", 1.5, None, 3)]),
    ("list behind a bar", "Epoch 10 loss 12.5 | train 2.5s | Acc 9.25%", [(1, "loss", 12.5, None, 10), (1, "train", 2.5, None, 10), (1, "Acc", 9.25, None, 10)]),
    ("bars of later Ultralytics", "  Epoch  GPU_mem  box_loss  Size\n  1/50  2.1G  0.5  640: 100% ━━━━━━━━ 105/105 7.8it/s 13.5s\n  Class  Images  P  mAP50: 94% ━━━━━━━━━━━─ 99/105 8.5it/s 12.8s<0.7s\n  all  12  0.25  0.125", [(2, "box_loss", 0.5, None, 1), (4, "P", 0.25, None, 1), (4, "mAP50", 0.125, None, 1)]),
    ("is and a sign", "epoch: 2,  loss is: 2.5, the acc is: 0.5", [(1, "loss", 2.5, None, 2), (1, "acc", 0.5, None, 2)]),
    ("arrows", "Step 50 out of 200 | Loss --> 1.5 | Grad_l2 -> 2.5 | Lr => 0.001", [(1, "Loss", 1.5, 50, None), (1, "Grad_l2", 2.5, 50, None), (1, "Lr", 0.001, 50, None)]),
    ("bold words", "- **Train Loss:** 0.5", [(1, "Train Loss", 0.5, None, None)]),
    ("unknown names with averages", "Test: [70/181] Data 0.25 (0.5) Batch 0.75 (1.5).", [(1, "Data", 0.25, 70, None), (1, "Batch", 0.75, 70, None)]),
    ("steps in a sentence", "After 101 training step(s), loss on training batch is 0.25.", [(1, "loss on training batch", 0.25, 101, None)]),
    ("epochs in a sentence", "accuracy on test set after 3 epochs: 0.75", [(1, "accuracy on test set", 0.75, None, 3)]),
    ("a metric that ends as a counter", "Average inner loss after inner updates : 20.25", [(1, "Average inner loss after inner updates", 20.25, None, None)]),
    ("episodes beside epochs", "step:3 ep:7 epch:1.5 loss:0.5", [(1, "loss", 0.5, 3, 1.5)]),
    ("an early stop counts otherwise", "Epoch 9/10\nEpoch 00008: early stopping\n31s - loss: 0.5", [(3, "loss", 0.5, None, 9)]),
    ("step of all at the line's start", "[     37 Epoch:[ 1/25] [ 13/ 27] d_loss: 1.5", [(1, "d_loss", 1.5, 37, 1)]),
    ("epoch and step with a dash", "epoch 1-59, loss: 0.5", [(1, "loss", 0.5, 59, 1)]),
    ("counter in another language", "Iteración 21 | loss=0.5", [(1, "loss", 0.5, 21, None)]),
    ("a measured coefficient", "Corr coef: -0.5", [(1, "Corr coef", -0.5, None, None)]),
    ("learning rate of now", "cur_lr: 0.125", [(1, "cur_lr", 0.125, None, None)]),
]  # fmt: skip


@pytest.mark.parametrize(("what", "text", "expected"), COUNTED, ids=[f"{i}-{row[0]}" for i, row in enumerate(COUNTED)])
def test_a_counter_is_no_value(what: str, text: str, expected: list[tuple[object, ...]]) -> None:
    assert triples(text) == expected, what
